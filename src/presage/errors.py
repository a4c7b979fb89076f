"""Every error Presage raises on purpose.

    PresageError
    ├── InputError                data or a setting that cannot be right (also a ValueError)
    │   ├── SettingError          a setting outside its range
    │   ├── SpaceError            an empty or ill-formed space
    │   ├── SymbolError           a symbol outside its space
    │   ├── FeatureError          a dense feature that is not a finite number
    │   ├── ShapeError            arrays whose shapes do not fit together
    │   ├── DelayError            feedback that would be known too early
    │   └── DataError             a file of data that is missing, damaged or not in its format
    ├── FeedbackError             feedback that cannot be joined (also a LookupError)
    │   ├── UnknownIdError        nothing was predicted under this id
    │   └── RepeatedFeedbackError this feedback was given before
    ├── OutputError               a folder that cannot be written, or a full disk
    ├── StateFileError            a saved state that is damaged or belongs to another forecaster
    ├── NotFiniteError            a probability or a parameter that is no finite number
    ├── StoreError                the durable log of a service
    │   ├── StoreFailedError      it can no longer be trusted to keep data: the process must end
    │   │   └── LogDamagedError   a recorded entry is missing or altered
    │   ├── StoreFullError        the disk is full; nothing was written
    │   ├── StoreInUseError       another process is using the folder
    │   ├── OtherFormatError      the log has something that this version does not know
    │   ├── OtherTaskError        the folder holds the log of another task
    │   └── OtherRevisionError    the folder was made with a revision of the forecaster that this version lacks
    ├── BusyError                 too much is queued; nothing was accepted
    ├── ServiceError              an error that a service returned to its client
    │   ├── RefusedError          a request that was refused: nothing changed
    │   │   └── ConflictError     the log has something else under the same id
    │   └── UnansweredError       no response, or a failure: unknown whether it was recorded
    ├── MissingExtraError         a package of an extra that is not installed (also an ImportError)
    └── CheckError                a forecaster that breaks the contract

A message always has three parts: what is wrong, the value found, what to do.
"""

LONGEST = 300
"""Characters of the value found that a message shows: a damaged file may be one value of gigabytes."""


class PresageError(Exception):
    """What is wrong, the value found, and what to do about it."""

    def __init__(self, wrong: str, found: object, remedy: str) -> None:
        self.wrong = wrong
        self.found = found
        self.remedy = remedy
        super().__init__(f"{wrong}: found {_short(repr(found))}; {remedy}")

    def __reduce__(self) -> tuple[type, tuple[str, object, str]]:
        # The default rebuilds an exception from its message alone; worker processes send errors back whole.
        return type(self), (self.wrong, self.found, self.remedy)


class InputError(PresageError, ValueError):
    """Data or a setting that cannot be right."""


class SettingError(InputError):
    """A setting outside its range."""


class SpaceError(InputError):
    """An empty or ill-formed space."""


class SymbolError(InputError):
    """A symbol outside its space."""


class FeatureError(InputError):
    """A dense feature that is not a finite number."""


class ShapeError(InputError):
    """Arrays whose shapes do not fit together."""


class DelayError(InputError):
    """Feedback that would be known too early."""


class DataError(InputError):
    """A file of data that is missing, damaged or not in its format."""


class FeedbackError(PresageError, LookupError):
    """Feedback that cannot be joined to a prediction."""


class UnknownIdError(FeedbackError):
    """Nothing was predicted under this id."""


class RepeatedFeedbackError(FeedbackError):
    """This feedback was given before."""


class OutputError(PresageError):
    """A folder that cannot be written, or a full disk."""


class StateFileError(PresageError):
    """A saved state that is damaged or belongs to another forecaster."""


class NotFiniteError(PresageError):
    """A probability or a parameter that is no finite number."""


class StoreError(PresageError):
    """The durable log of a service."""


class StoreFailedError(StoreError):
    """A store that can no longer be trusted to keep data: the process must end."""


class LogDamagedError(StoreFailedError):
    """A recorded entry is missing or altered."""


class StoreFullError(StoreError):
    """A full disk; nothing was written."""


class StoreInUseError(StoreError):
    """A folder that another process is using."""


class OtherFormatError(StoreError):
    """A log with something that this version does not know: its format, or a kind of its entries."""


class OtherTaskError(StoreError):
    """A folder that holds the log of another task."""


class OtherRevisionError(StoreError):
    """A folder that was made with a revision of the forecaster that this version lacks."""


class BusyError(PresageError):
    """Too much is queued; nothing was accepted."""


class ServiceError(PresageError):
    """An error that a service returned to its client."""


class RefusedError(ServiceError):
    """A request that was refused: nothing changed."""


class ConflictError(RefusedError):
    """The log has something else under the same id."""


class UnansweredError(ServiceError):
    """No response, or a failure: it is unknown whether it was recorded. Sending the same again is safe."""


class MissingExtraError(PresageError, ImportError):
    """A package of an extra that is not installed."""

    def __str__(self) -> str:
        return f"{self.wrong}: found no module named {self.found}; {self.remedy}"


class CheckError(PresageError):
    """A forecaster that breaks the contract."""


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}... ({len(text):,} characters)"
