// Package fetch asks HTTP servers, as far as whoever runs the host grants it to the plugin: Descriptor.HTTP says beforehand whom. Go's own net/http finds
// no network here.
package fetch

import "time"

// Request is one over HTTP.
type Request struct {
	// Method is GET if it is empty.
	Method  string
	URL     string
	Headers map[string]string
	Body    []byte
	// Timeout is as long as the call may wait, if it is zero.
	Timeout time.Duration
}

// Response is as it came.
type Response struct {
	Status int
	// Headers have their names in small letters; one that came several times has its values joined by a comma.
	Headers map[string]string
	Body    []byte
}

// Kind is how a request failed.
type Kind uint8

// How it can fail.
const (
	// NotGranted: nothing was sent; the message has the lines that would grant it.
	NotGranted Kind = iota
	// NotLeader: another replica of the host acts.
	NotLeader
	// Invalid: it cannot be a request.
	Invalid
	// TimedOut: no whole answer came in time.
	TimedOut
	// TooLarge: the answer is larger than it may be.
	TooLarge
	// Transport: no answer came.
	Transport
)

// Error is why there is no answer.
type Error struct {
	Kind    Kind
	Message string
}

func (e *Error) Error() string {
	kinds := [...]string{"not granted", "not the leader", "invalid", "timed out", "too large", "no answer"}
	kind := "failed"
	if int(e.Kind) < len(kinds) {
		kind = kinds[e.Kind]
	}
	if e.Message == "" {
		return "fetch: " + kind
	}
	return "fetch: " + kind + ": " + e.Message
}

// Do sends a request and waits for the answer.
func Do(request Request) (*Response, error) {
	if request.Method == "" {
		request.Method = "GET"
	}
	status, fields, body, err := send(request)
	if err != nil {
		return nil, err
	}
	headers := make(map[string]string, len(fields))
	for _, field := range fields {
		if before, ok := headers[field[0]]; ok {
			field[1] = before + ", " + field[1]
		}
		headers[field[0]] = field[1]
	}
	return &Response{Status: status, Headers: headers, Body: body}, nil
}
