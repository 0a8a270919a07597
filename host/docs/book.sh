#!/bin/sh
# Builds the book: `book.sh MDBOOK`. The pages stay where they are in the repository. They are copied to
# target/book/src at the same paths, so their links to each other work there as well, and mdBook writes
# target/book/html. A folder's README becomes its index. Other files that a page links to come along.
set -eu
cd "$(dirname "$0")/../.."
source=target/book/src
rm -rf target/book
mkdir -p "$source"
cp host/docs/book.toml target/book/

# The files and folders that a page links to, without headings and without other machines.
targets() {
  grep -o '](\([^)]*\))' "$1" | sed -e 's/^](//' -e 's/)$//' -e 's/#.*//' | grep -v -e '://' -e '^$' | sort -u || true
}

readme_is_index='s,](\([^)]*\)README\.md,](\1index.md,g'
# In the book the summary is beside every page; a link to it leads to the first chapter.
summary_is_begin='s,](\([^)]*\)SUMMARY\.md),](\1tutorial.md),g'

# SUMMARY.md has links from its own folder; mdBook wants them from the top.
sed -e 's,](\([^)]*\.md\)),](host/docs/\1),' -e 's,(host/docs/\.\./\.\./,(,' -e 's,(host/docs/\.\./,(host/,' \
  host/docs/SUMMARY.md >target/book/summary
sed "$readme_is_index" target/book/summary >"$source/SUMMARY.md"

for page in $(targets target/book/summary); do
  folder=$(dirname "$page")
  mkdir -p "$source/$folder"
  edits="$readme_is_index;$summary_is_begin"
  for target in $(targets "$page"); do
    place=$folder/${target%/}
    # A path without `..`, as the summary has it.
    path=$(cd "$(dirname "$place")" && pwd)/$(basename "$place")
    if grep -q "](${path#"$PWD/"}/README\.md)" target/book/summary; then
      edits="$edits;s,](${target}\(#[^)]*\)\{0\,1\}),](${target%/}/index.md\1),g"
    elif [ "${target%.md}" = "$target" ] && [ ! -e "$source/$place" ]; then
      mkdir -p "$source/$(dirname "$place")"
      cp -R "$place" "$source/$place"
    fi
  done
  name=$(basename "$page")
  if [ "$name" = README.md ]; then name=index.md; fi
  sed "$edits" "$page" >"$source/$folder/$name"
done

"$1" build target/book
echo "the book begins at target/book/html/index.html"
