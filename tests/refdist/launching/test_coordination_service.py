import importlib
import os

import pytest

from refdist._core.launching import coordination_service as module


def test_a_jaxlib_without_the_service_is_told(monkeypatch):
    monkeypatch.setattr(module, "import_module", lambda name: importlib.import_module("json"))
    with (
        pytest.raises(RuntimeError, match=r"no coordination service in jaxlib .*; expected .* Install that version"),
        module.coordination_service(2),
    ):
        pass


def test_the_setting_for_jaxlib_is_gone_afterwards(monkeypatch):
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    with module.coordination_service(2) as address:
        assert address.startswith("127.0.0.1:")
        assert "TF_CPP_MIN_LOG_LEVEL" not in os.environ


def test_several_services_have_addresses_of_their_own():
    with module.coordination_service(2) as one, module.coordination_service(3) as other:
        assert one != other
