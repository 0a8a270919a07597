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

// Never makes the event a dead letter at once, because a retry would fail again.
func Never(err error) error {
	if err == nil {
		return nil
	}
	return &failure{error: err, never: true}
}

// After sets the time of the event's retry, instead of the rate limiter's wait.
func After(err error, wait time.Duration) error {
	if err == nil {
		return nil
	}
	return &failure{error: err, after: wait}
}

// Retry returns the retry of an event that failed with err: never, or after a time. Both are zero for the rate
// limiter's wait. The API server's time counts where neither Never nor After was called. For tests, and for the
// packages beside this one.
func Retry(err error) (never bool, after time.Duration) {
	var asked *failure
	if errors.As(err, &asked) {
		return asked.never, asked.after
	}
	var refused interface{ APIServerWait() time.Duration }
	if errors.As(err, &refused) {
		return false, refused.APIServerWait()
	}
	return false, 0
}

// Guard calls f and converts a panic to an error, so that the instance continues. It logs the panic's place. For the
// packages beside this one.
func Guard(f func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
			slog.Error(err.Error(), "stack", string(debug.Stack()))
		}
	}()
	return f()
}
