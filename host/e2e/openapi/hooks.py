"""What the fuzzer leaves out."""

import schemathesis


@schemathesis.hook
def before_call(context, case, kwargs):
    """A watch lasts for minutes. Facts of the behaviour suite try it."""
    if case.query:
        case.query.pop("watch", None)
