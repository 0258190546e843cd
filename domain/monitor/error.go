package monitor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Code is an error code of the API (section 3.5).
type Code string

// The error codes of section 3.5.
const (
	InvalidURL          Code = "INVALID_URL"
	InvalidConfig       Code = "INVALID_CONFIG"
	Unauthorized        Code = "UNAUTHORIZED"
	NotFound            Code = "MONITOR_NOT_FOUND"
	Ended               Code = "MONITOR_ENDED" // section 16.6
	Duplicate           Code = "DUPLICATE_MONITOR"
	NameTaken           Code = "NAME_TAKEN"  // another of the same kind has the name
	NobodyTold          Code = "NOBODY_TOLD" // there is no callback, and no route leads anywhere
	RateLimitExceeded   Code = "RATE_LIMIT_EXCEEDED"
	MaxMonitorsExceeded Code = "MAX_MONITORS_EXCEEDED"
	Internal            Code = "INTERNAL_ERROR"
)

// Error is an error that a caller may see. Its message names the wrong value and the
// accepted ones, and the remedy where one helps.
type Error struct {
	Code    Code
	Message string
	Field   string // of the request that is wrong, such as config.check_interval_sec; empty: none, or several

	Existing string   `json:"existing_id"` // the monitor or channel that is there already; empty: none
	joined   []*Error // by Join
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf makes an *Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// FieldErrorf makes an *Error for one wrong field of a request. The field's name begins the message.
func FieldErrorf(field, format string, args ...any) *Error {
	return &Error{Code: InvalidConfig, Message: field + " " + fmt.Sprintf(format, args...), Field: field}
}

// NameTakenf makes an *Error for a name that another of the same kind has.
func NameTakenf(format string, args ...any) *Error {
	return &Error{Code: NameTaken, Message: fmt.Sprintf(format, args...), Field: "name"}
}

// Problems returns all that is wrong: the refusals of which Join has made the error, or the error alone.
func (e *Error) Problems() []*Error {
	if len(e.joined) > 0 {
		return e.joined
	}
	return []*Error{e}
}

// OfField returns a refusal as that of a field of a request. It returns any other error, and
// nil, as it is.
func OfField(field string, err error) error {
	refusal, is := errors.AsType[*Error](err)
	if !is || refusal.Code == Internal {
		return err
	}
	return &Error{Code: refusal.Code, Message: refusal.Message, Field: field, Existing: refusal.Existing}
}

// FieldOf returns the field of a request that an error is about; empty: none.
func FieldOf(err error) string {
	if refusal, is := errors.AsType[*Error](err); is {
		return refusal.Field
	}
	return ""
}

// DuplicateOf refuses a registration of a stream that an active monitor watches; watchedBy is empty if it is that of an earlier
// registration of a dry run.
func DuplicateOf(stream StreamURL, watchedBy ID) *Error {
	if watchedBy == "" {
		return Errorf(Duplicate, "%s comes before in the batch", stream)
	}
	refusal := Errorf(Duplicate, "%s is already being watched by %s; stop that monitor first", stream, watchedBy)
	refusal.Existing = string(watchedBy)
	return refusal
}

// EndedAlready refuses a change of a monitor that has ended.
func EndedAlready(id ID, status Status) *Error {
	return Errorf(Ended, "monitor %s has ended (%s) and cannot be changed; register the stream again", id, status)
}

// TooMany refuses a registration while the maximum of monitors is active.
func TooMany(active, maximum int) *Error {
	return Errorf(MaxMonitorsExceeded, "%d monitors are active and %d is the maximum; stop one or wait until one has ended", active, maximum)
}

// Join makes one error of all refusals of a request, so that the caller can
// correct them at once. nil errors are left out. The code is InvalidURL if all
// are, NobodyTold if it is alone, else InvalidConfig; the messages follow each other as sentences. An error
// that is no refusal with one of these codes is returned alone.
func Join(errs ...error) error {
	code := InvalidURL
	var messages []string
	var problems []*Error
	for _, err := range errs {
		if err == nil {
			continue
		}
		refusal, is := errors.AsType[*Error](err)
		if !is || refusal.Code != InvalidURL && refusal.Code != InvalidConfig && refusal.Code != NobodyTold {
			return err
		}
		if refusal.Code != InvalidURL {
			code = InvalidConfig
		}
		messages = append(messages, refusal.Message)
		problems = append(problems, refusal.Problems()...)
	}
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return problems[0]
	}
	return &Error{Code: code, Message: strings.Join(messages, ". "), joined: problems}
}

// NamedOnce returns the errors of fields that could not be read, and those of the checks that
// are about other fields: the checks see an unreadable field without its value. An unreadable
// error without a field is about the whole request.
func NamedOnce(unreadable, checked []error) []error {
	all := slices.Clone(unreadable)
	for _, err := range checked {
		field := FieldOf(err)
		if err != nil && !slices.ContainsFunc(unreadable, func(e error) bool { return e != nil && within(field, FieldOf(e)) }) {
			all = append(all, err)
		}
	}
	return all
}

// within reports whether a field is the outer one or in it.
func within(field, outer string) bool {
	return outer == "" || field == outer || strings.HasPrefix(field, outer+".")
}
