"""Every error that a user can fix. All others keep their traceback."""


class CopyfitError(Exception):
    """Say in one line what must hold, what was given and what to do."""


class ConfigError(CopyfitError):
    """Report a recipe or a setting that cannot be used."""


class DataError(CopyfitError):
    """Report a file of texts or pairs that cannot be used."""


class CheckpointError(CopyfitError):
    """Report a model folder that cannot be used."""


class RequestError(CopyfitError):
    """Report a request for a headline that cannot be served."""
