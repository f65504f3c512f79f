"""The version of this tool."""

from typing import Final

TOOL_VERSION: Final = "0.1.0"
