// Package fetch sends HTTP requests, if the host's operator has granted them to the plugin: Descriptor.HTTP declares
// them. Go's own net/http has no network in a plugin.
package fetch

import "time"

// Request is an HTTP request.
type Request struct {
	// Method is GET if it is empty.
	Method  string
	URL     string
	Headers map[string]string
	Body    []byte
	// Timeout is the call's own time if it is zero.
	Timeout time.Duration
}

// Response is the unchanged answer.
type Response struct {
	Status int
	// Headers have names in lower case. Several values of one header are joined by a comma.
	Headers map[string]string
	Body    []byte
}

// Kind is the kind of an error.
type Kind uint8

// The kinds of errors.
const (
	// NotGranted: nothing was sent. The message contains the lines that would grant the request.
	NotGranted Kind = iota
	// NotLeader: another replica of the host leads.
	NotLeader
	// Invalid: the request is not valid.
	Invalid
	// TimedOut: no complete answer came in time.
	TimedOut
	// TooLarge: the answer is too large.
	TooLarge
	// Transport: no answer came.
	Transport
)

// Error is the reason for a missing answer.
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
