"""Every error Presage raises on purpose.

    PresageError
    ├── InputError                data or a setting that cannot be right (also a ValueError)
    │   ├── SettingError          a setting outside its range
    │   ├── SpaceError            an empty or ill-formed space
    │   ├── SymbolError           a symbol outside its space
    │   ├── FeatureError          a dense feature that is not a finite number
    │   ├── ShapeError            arrays that do not belong together
    │   ├── DelayError            feedback that would be known before its time
    │   └── DataError             a file of data that is missing, damaged or not in its format
    ├── FeedbackError             feedback that cannot be joined (also a LookupError)
    │   ├── UnknownIdError        nothing was predicted under this id
    │   └── RepeatedFeedbackError this feedback was given before
    ├── OutputError               a folder that cannot be written, or a full disk
    ├── StateFileError            a saved state that is damaged or belongs to another forecaster
    ├── StoreError                the durable log of a service
    │   ├── StoreFailedError      it can no longer be trusted to keep what it is given: the process must end
    │   │   └── LogDamagedError   something that was kept is missing or altered
    │   ├── StoreFullError        the disk is full; nothing was written
    │   ├── StoreInUseError       another process is using the folder
    │   ├── OtherTaskError        the folder holds the log of another task
    │   └── OtherRevisionError    the folder was made with a revision of the forecaster that is not here
    ├── BusyError                 too much is waiting to be done; nothing was taken
    ├── ServiceError              what a service answered to its client
    │   ├── RefusedError          a request that was refused: nothing changed
    │   │   └── ConflictError     something else is in the log under the same id
    │   └── UnansweredError       no answer, or a failure: nobody knows whether it was done
    ├── MissingExtraError         a package that an extra brings and is not installed (also an ImportError)
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
    """Arrays that do not belong together."""


class DelayError(InputError):
    """Feedback that would be known before its time."""


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


class StoreError(PresageError):
    """The durable log of a service."""


class StoreFailedError(StoreError):
    """A store that can no longer be trusted to keep what it is given: the process must end."""


class LogDamagedError(StoreFailedError):
    """Something that was kept is missing or altered."""


class StoreFullError(StoreError):
    """A full disk; nothing was written."""


class StoreInUseError(StoreError):
    """A folder that another process has."""


class OtherTaskError(StoreError):
    """A folder that holds the log of another task."""


class OtherRevisionError(StoreError):
    """A folder that was made with a revision of the forecaster that is not here."""


class BusyError(PresageError):
    """Too much is waiting to be done; nothing was taken."""


class ServiceError(PresageError):
    """What a service answered to its client."""


class RefusedError(ServiceError):
    """A request that was refused: nothing changed."""


class ConflictError(RefusedError):
    """Something else is in the log under the same id."""


class UnansweredError(ServiceError):
    """No answer, or a failure: nobody knows whether it was done. Sending the same again is safe."""


class MissingExtraError(PresageError, ImportError):
    """A package that an extra brings and is not installed."""

    def __str__(self) -> str:
        return f"{self.wrong}: found no module named {self.found}; {self.remedy}"


class CheckError(PresageError):
    """A forecaster that breaks the contract."""


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 20]}... ({len(text):,} characters)"
