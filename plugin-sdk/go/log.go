package informant

import (
	"context"
	"log/slog"
	"strings"
)

// LevelTrace is below slog's own levels.
const LevelTrace = slog.LevelDebug - 4

func init() { slog.SetDefault(slog.New(&handler{})) }

// handler passes slog's records to the host.
type handler struct {
	prefix string
	fields [][2]string
}

// number returns the host's level: trace, debug, info, warn, error.
func number(level slog.Level) uint32 {
	switch {
	case level < slog.LevelDebug:
		return 0
	case level < slog.LevelInfo:
		return 1
	case level < slog.LevelWarn:
		return 2
	case level < slog.LevelError:
		return 3
	}
	return 4
}

func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return enabled(number(level)) }

func (h *handler) Handle(_ context.Context, record slog.Record) error {
	fields := h.fields[:len(h.fields):len(h.fields)]
	record.Attrs(func(attribute slog.Attr) bool {
		fields = appended(fields, h.prefix, attribute)
		return true
	})
	write(number(record.Level), strings.TrimSuffix(record.Message, "\n"), fields)
	return nil
}

func (h *handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	fields := h.fields[:len(h.fields):len(h.fields)]
	for _, attribute := range attributes {
		fields = appended(fields, h.prefix, attribute)
	}
	return &handler{prefix: h.prefix, fields: fields}
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{prefix: h.prefix + name + ".", fields: h.fields}
}

// appended converts groups to names with dots.
func appended(fields [][2]string, prefix string, attribute slog.Attr) [][2]string {
	value := attribute.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if attribute.Key == "" {
			return fields
		}
		return append(fields, [2]string{prefix + attribute.Key, value.String()})
	}
	if attribute.Key != "" {
		prefix += attribute.Key + "."
	}
	for _, one := range value.Group() {
		fields = appended(fields, prefix, one)
	}
	return fields
}
