package informant

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
)

type failure struct {
	error
	never bool
	after time.Duration
}

func (f *failure) Unwrap() error { return f.error }

// Never sends the event to the dead letters at once: trying again would not help.
func Never(err error) error {
	if err == nil {
		return nil
	}
	return &failure{error: err, never: true}
}

// After has the event come again after this time, and not as the rate limiter says.
func After(err error, wait time.Duration) error {
	if err == nil {
		return nil
	}
	return &failure{error: err, after: wait}
}

// Retry is what becomes of an event that failed with err: never again, or after a time; both zero for the rate limiter's own. For tests, and for the
// packages beside this one.
func Retry(err error) (never bool, after time.Duration) {
	var asked *failure
	if errors.As(err, &asked) {
		return asked.never, asked.after
	}
	return false, 0
}

// Guard calls f, and makes an error of a panic, so that the instance goes on. Where it happened is logged. For the packages beside this one.
func Guard(f func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
			slog.Error(err.Error(), "stack", string(debug.Stack()))
		}
	}()
	return f()
}
