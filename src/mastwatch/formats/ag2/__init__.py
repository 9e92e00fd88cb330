"""AG2 (AutoGen 0.2): chat dumps, printed chats, and the database of its runtime logging."""

from mastwatch.formats.ag2.chat import PrintedChatFormat
from mastwatch.formats.ag2.dump import ChatDumpFormat
from mastwatch.formats.ag2.reprs import ReprStreamFormat
from mastwatch.formats.ag2.runtime import RuntimeLogFormat

__all__ = ["ChatDumpFormat", "PrintedChatFormat", "ReprStreamFormat", "RuntimeLogFormat"]
