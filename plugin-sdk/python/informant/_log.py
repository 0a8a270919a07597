"""Python's own logging, to the host's log."""

import logging

try:
    from wit_world.imports import log
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("informant runs in a plugin; a test has `from informant_testing import Host` before it") from error

# What every record has; the rest is what `extra` brought.
_KNOWN = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def _level(number):
    if number < logging.DEBUG:
        return log.Level.TRACE
    if number < logging.INFO:
        return log.Level.DEBUG
    if number < logging.WARNING:
        return log.Level.INFO
    if number < logging.ERROR:
        return log.Level.WARN
    return log.Level.ERROR


class LogHandler(logging.Handler):
    """Hands records on; what stands in `extra` becomes fields, an exception the field `stack`."""

    def emit(self, record):
        level = _level(record.levelno)
        if not log.enabled(level):
            return
        fields = [(name, str(value)) for name, value in vars(record).items() if name not in _KNOWN]
        if record.exc_info:
            fields.append(("stack", logging.Formatter().formatException(record.exc_info)))
        try:
            message = record.getMessage()
        except Exception as error:
            message = f"{record.msg} (its arguments do not fit: {error})"
        log.log(level, message, fields)
