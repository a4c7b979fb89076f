"""The process that draws."""

import os
import signal

import pytest

from presage.charts.artist import Artist
from presage.charts.pictures import drawn
from presage.errors import OutputError
from presage.experiments.synthetic.figure import blank_rows, figure_2
from presage.experiments.synthetic.settings import SMOKE


def test_an_artist_draws_what_would_be_drawn_here() -> None:
    shown = SMOKE.trials, blank_rows(SMOKE)
    with Artist() as artist:
        artist.rehearse(figure_2, *shown)
        artist.rehearse(figure_2, *shown)
        assert artist.draw(figure_2, *shown) == artist.draw(figure_2, *shown) == drawn(figure_2, *shown)


def test_an_artist_that_is_gone_is_told_in_one_line() -> None:
    with Artist() as artist:
        os.kill(artist._process.pid, signal.SIGKILL)
        artist._process.wait()
        with pytest.raises(OutputError, match="the drawing process died"):
            artist.draw(figure_2, SMOKE.trials, blank_rows(SMOKE))
