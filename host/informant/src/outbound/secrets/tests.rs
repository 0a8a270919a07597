//! Files that can be secrets, and files that cannot.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

fn header(secret: &str) -> SecretHeader {
    let secret = secret.parse().expect("a plain name");
    SecretHeader::new("Authorization", "Bearer ", secret).expect("a header")
}

/// The header's value, or the problem of the file.
fn value(directory: &Path, name: &str) -> String {
    match secret(directory, &header(name)) {
        Ok(secret) => {
            assert!(
                secret.value.is_sensitive() && secret.value.as_bytes().ends_with(&secret.content)
            );
            String::from_utf8(secret.value.as_bytes().to_vec()).expect("text")
        }
        Err(problem) => {
            let begin = format!("the secret {name} in the directory of --secrets cannot be used: ");
            problem.strip_prefix(&begin).unwrap_or_else(|| panic!("{problem}")).to_owned()
        }
    }
}

#[test]
fn a_file_is_a_value_without_blanks_and_line_ends_around_it() {
    let root = tempfile::tempdir().expect("a directory");
    let check = |content: &[u8], expect: &str| {
        fs::write(root.path().join("a"), content).expect("a file");
        assert_eq!(value(root.path(), "a"), expect);
    };
    check(b"token", "Bearer token");
    check(b"token\n", "Bearer token");
    check(b"token\r\n\n", "Bearer token");
    check(b"token \t \n", "Bearer token");
    check(b"\n  to ken\t", "Bearer to ken");
    for empty in [&b""[..], b"\n", b" \t\r\n"] {
        check(empty, "it is empty");
    }
    check(b"two\nlines", "it has characters that no header has");
    check(&vec![b'x'; SECRET_BYTES_MAX as usize], &format!("Bearer {}", "x".repeat(8 << 10)));
    check(&vec![b'x'; SECRET_BYTES_MAX as usize + 1], "it has more than 8192 bytes");
}

#[test]
fn links_stay_in_the_directory() {
    let root = tempfile::tempdir().expect("a directory");
    let (inside, outside) = (root.path().join("secrets"), root.path().join("outside"));
    fs::create_dir_all(inside.join("..one")).expect("a directory");
    fs::write(inside.join("..one/a"), "one").expect("a file");
    fs::write(&outside, "outside").expect("a file");
    // Links as the kubelet makes them for a mounted Secret, and changes them.
    symlink("..one", inside.join("..data")).expect("a link");
    symlink("..data/a", inside.join("a")).expect("a link");
    assert_eq!(value(&inside, "a"), "Bearer one");
    fs::create_dir(inside.join("..two")).expect("a directory");
    fs::write(inside.join("..two/a"), "two").expect("a file");
    symlink("..two", inside.join("..data_tmp")).expect("a link");
    fs::rename(inside.join("..data_tmp"), inside.join("..data")).expect("a rename");
    assert_eq!(value(&inside, "a"), "Bearer two");

    let leads_out = "it is a link that leads out of there";
    symlink("../outside", inside.join("b")).expect("a link");
    symlink(&outside, inside.join("c")).expect("a link");
    symlink("..", inside.join("d")).expect("a link");
    for name in ["b", "c", "d"] {
        assert_eq!(value(&inside, name), leads_out);
    }
    fs::create_dir(inside.join("e")).expect("a directory");
    assert_eq!(value(&inside, "e"), "it is no file");
    assert!(value(&inside, "f").contains("No such file"), "it may come later");
}

#[tokio::test]
async fn without_a_directory_there_are_no_secrets() {
    let none = Secrets::new(None).expect("nothing is read");
    assert!(none.read(&[]).await.is_ok_and(|read| read.is_empty()));
    let problem = none.read(&[header("a")]).await.err().expect("there is none");
    let expect =
        "the host adds secrets to it (a) and has none: name their directory with --secrets";
    assert_eq!(problem, expect);
    assert!(Secrets::new(Some("/nowhere/at/all".into())).is_err());
}
