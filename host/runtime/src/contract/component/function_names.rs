//! The names of a plugin's functions, which backtraces show. wasmtime copies the name for each frame of a call that
//! ends its instance, so no name may be long.

use super::ContractError;
use wasmparser::{BinaryReaderError, KnownCustom, Name, NameSectionReader, Parser, Payload};

/// The most bytes of a function's name. The names of generic code that people write have a few thousand.
pub(crate) const FUNCTION_NAME_BYTES_MAX: usize = 64 << 10;

/// Refuses a file with a longer name in any of its modules.
pub(super) fn check_function_names(file: &[u8]) -> Result<(), ContractError> {
    for payload in Parser::new(0).parse_all(file) {
        let payload = payload.map_err(|error| ContractError::Malformed(error.to_string()))?;
        if let Payload::CustomSection(section) = payload
            && let KnownCustom::Name(names) = section.as_known()
            // wasmtime ignores a section that it cannot read.
            && let Ok(longest) = longest(names)
            && longest > FUNCTION_NAME_BYTES_MAX
        {
            return Err(ContractError::LongFunctionName(longest));
        }
    }
    Ok(())
}

fn longest(names: NameSectionReader<'_>) -> Result<usize, BinaryReaderError> {
    let mut longest = 0;
    for subsection in names {
        if let Name::Function(functions) = subsection? {
            for function in functions {
                longest = longest.max(function?.name.len());
            }
        }
    }
    Ok(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A component whose module has a function with a name of this length, with a name section that ends in these
    /// bytes.
    #[track_caller]
    fn check(name_bytes: usize, expect: Result<(), ContractError>) {
        let name = "n".repeat(name_bytes);
        let text = format!("(component (core module (func $a) (func ${name})))");
        let file = wat::parse_str(text).expect("the test's component is well formed");
        assert_eq!(check_function_names(&file), expect, "{name_bytes}");
    }

    #[test]
    fn names_of_functions_are_bounded() {
        check(FUNCTION_NAME_BYTES_MAX, Ok(()));
        let more = FUNCTION_NAME_BYTES_MAX + 1;
        check(more, Err(ContractError::LongFunctionName(more)));
        check(20 << 20, Err(ContractError::LongFunctionName(20 << 20)));
    }
}
