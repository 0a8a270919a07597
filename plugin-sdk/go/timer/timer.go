// Package timer is for plugins whose descriptor has schedules. A plugin that imports it must register a Timer.
package timer

import "time"

// Timer is called at the moments of schedules.
type Timer interface {
	// Fire is called for a moment of a schedule. If several moments have passed, there is one call, for the last of them.
	Fire(schedule string, at time.Time) error
}

var registered Timer

// Register makes t the Timer of this plugin.
func Register(t Timer) { registered = t }

// Registered returns the registered Timer. For tests.
func Registered() Timer { return registered }
