# The book of the guides. Included by the root Makefile; every path is relative to the root.
#
#   make prose  checks the words and the length of the sentences on all pages
#   make book   target/book/html, of the pages that host/docs/SUMMARY.md names; all of them are readable as files too

MDBOOK_VERSION := 0.5.4
MDBOOK_OWN     := target/mdbook/bin/mdbook

.PHONY: book prose

# Words and sentences of README, the book and `--help`, whose page is part of the book.
prose: prerequisites
	cargo test --workspace --test tidy -- prose pages_

# An mdBook on PATH is taken as it is. Otherwise cargo compiles one for some minutes, once.
book: prerequisites
	@mdbook=$$(command -v mdbook || echo $(MDBOOK_OWN)); \
	if ! test -x "$$mdbook"; then \
		echo "installing mdBook $(MDBOOK_VERSION) into target/mdbook"; \
		CARGO_TARGET_DIR=target/mdbook/build cargo install --quiet --locked --root target/mdbook --no-track \
			--no-default-features --features search mdbook@$(MDBOOK_VERSION) && rm -rf target/mdbook/build; \
	fi; \
	if ! test -x "$$mdbook"; then \
		echo "SKIPPED: make book needs mdBook, and cargo cannot install it: see above." >&2; \
		echo "         The pages are readable as files: host/docs/SUMMARY.md has them in order." >&2; \
	else \
		host/docs/book.sh "$$mdbook"; \
	fi
