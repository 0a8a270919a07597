# The image of `make image`: one program on a base that has nothing but a C library and certificates.

FROM docker.io/library/rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked -p informant --features jemalloc && cp target/release/informant /informant

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /informant /usr/local/bin/informant
# Mount plugins over it.
WORKDIR /plugins
USER 65532:65532
# Probes and metrics. The HTTP API is on loopback.
EXPOSE 8889
ENTRYPOINT ["/usr/local/bin/informant"]
CMD ["run", "--plugins=/plugins", "--metrics-bind-address=0.0.0.0:8889", "--log-format=json"]
