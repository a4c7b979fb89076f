"""A service in memory, and who asks it."""

import pytest

from presage.service.http.app import create_app
from tests.service.asking import Asking
from tests.service.fake import FakeService, books


@pytest.fixture
def service() -> FakeService:
    return FakeService(books())


@pytest.fixture
def ask(service: FakeService) -> Asking:
    return Asking(create_app(service, books()))
