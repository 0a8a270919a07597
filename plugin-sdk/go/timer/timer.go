// Package timer is for plugins whose descriptor has schedules. A plugin that imports it must register a Timer.
package timer

import "time"

// Timer is called by the clock.
type Timer interface {
	// Fire is called at a moment of a schedule, for that moment. However many have passed is one call, for the last of them.
	Fire(schedule string, at time.Time) error
}

var registered Timer

// Register makes t the one who is called by the clock.
func Register(t Timer) { registered = t }

// Registered is the one who is called by the clock. For tests.
func Registered() Timer { return registered }
