"""Whether a learner hangs, judged by beats that are made up; and the pipes through which they come."""

import io
import subprocess
import sys

import pytest

from presage.service.learner.heartbeat import BEAT, FIRST, PHASES, SILENT, STATES, Beat, Heart, Pulse
from presage.service.learner.messages import MessageReader, MessageWriter, receive
from tests.service.running import PATIENCE

HOUR = round(3600 / BEAT)


def beats(phase: str, count: int, *, steps: int = 0, taken: int = 0, work: float = 0.0, told: int = 0) -> list[str]:
    """What is made of beats in one phase; each has taken so many more steps and messages, and worked so much more."""
    pulse = Pulse()
    return [pulse.hear(Beat(phase, 1 + steps * number, taken * number, work * number), told) for number in range(count)]


def test_silence_is_noticed_within_5_seconds() -> None:
    pulse = Pulse()
    pulse.hear(Beat("folding", 1, 1, 0.1), 1)
    assert [pulse.miss() for _ in range(SILENT - 1)] == [""] * (SILENT - 1)
    assert pulse.miss() == "no sign of life for 4 seconds"
    assert (SILENT + 1) * BEAT <= 5, "the last beat may have come just before it stopped"


def test_a_process_that_has_not_beaten_yet_has_longer() -> None:
    pulse = Pulse()
    assert not any(pulse.miss() for _ in range(FIRST - 1))
    assert pulse.miss()


def test_a_beat_ends_the_silence() -> None:
    pulse = Pulse()
    for number in range(20):
        pulse.hear(Beat("waiting", number, 0, 0.0), 0)
        assert not any(pulse.miss() for _ in range(SILENT - 1))


@pytest.mark.parametrize("phase", ["compiling", "folding"])
def test_one_that_works_is_left_alone_for_half_an_hour(phase: str) -> None:
    assert not any(beats(phase, HOUR // 2, work=0.005)), "a hundredth of a processor"


def test_one_that_refolds_is_left_alone_for_as_long_as_it_takes() -> None:
    assert not any(beats("folding", 20 * HOUR, steps=1, work=0.4))


def test_one_that_waits_for_a_lock_is_noticed_within_5_seconds_though_it_beats() -> None:
    found = beats("folding", 20, work=0.0001)
    first = next(number for number, why in enumerate(found) if why)
    assert found[first] == "no work for 4 seconds while folding"
    assert (first + 1) * BEAT <= 5


def test_one_that_waits_for_lessons_may_wait_for_ever() -> None:
    assert not any(beats("waiting", 20 * HOUR, told=0))


def test_one_that_waits_while_lessons_wait_for_it_hangs() -> None:
    found = beats("waiting", 20, told=1)
    assert "while waiting" in next(why for why in found if why)
    assert not any(beats("waiting", 20, taken=1, told=10_000)), "but not while it takes them"


def test_one_that_works_on_one_step_for_ever_is_given_up() -> None:
    assert "one step for 3600 seconds" in beats("folding", 3 * HOUR, work=0.4)[-1]


@pytest.mark.parametrize("phase", PHASES)
def test_every_phase_gives_up_a_learner_that_does_nothing(phase: str) -> None:
    assert any(beats(phase, 2 * HOUR, told=1))


def test_a_heart_tells_what_the_main_loop_does() -> None:
    told = io.BytesIO()
    heart = Heart(told)
    heart.enter("folding")
    heart.taken = 5
    heart.beat()
    told.seek(0)
    kind, *parts = receive(told)
    beat = Beat(*parts)
    assert (kind, beat[:3]) == ("beat", ("folding", 1, 5))
    assert beat.work > 0
    assert beat.phase in STATES


HUNG = """
import threading
from presage.service.learner.heartbeat import Heart
Heart(open(1, "wb", buffering=0)).start()
threading.Event().wait()
"""


def test_a_learner_whose_main_loop_hangs_ends_when_its_service_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", HUNG], stdout=subprocess.PIPE, stdin=subprocess.PIPE) as hung:
        assert hung.stdout
        assert receive(hung.stdout)[0] == "beat"
        hung.stdout.close()
        try:
            assert hung.wait(PATIENCE) == 1
        finally:
            hung.kill()


def test_who_writes_to_one_that_does_not_read_stops_when_that_is_given_up() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as deaf:
        assert deaf.stdin
        asked = iter([False, False, True])
        with pytest.raises(BrokenPipeError):
            MessageWriter(deaf.stdin).write(["x" * (1 << 22)], lambda: next(asked), 0.01)
        deaf.kill()


def test_messages_that_come_in_parts_are_read_whole_and_nothing_is_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as echo:
        assert echo.stdin
        assert echo.stdout
        writer, reader = MessageWriter(echo.stdin), MessageReader(echo.stdout)
        assert reader.next(0.01) is None
        sent = [["a", 1], ["b" * 30_000, [2, b"x"]], ["c"]]
        for message in sent:
            writer.write(message, lambda: False, PATIENCE)
        assert [reader.next(PATIENCE) for _ in sent] == sent
        echo.stdin.close()
        with pytest.raises(EOFError):
            reader.next(PATIENCE)


ECHO = """
import sys
while part := sys.stdin.buffer.read1(1000):
    sys.stdout.buffer.write(part)
    sys.stdout.flush()
"""
