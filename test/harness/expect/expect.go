// Package expect fails a test, and lets it go on, where something is not as it should be.
package expect

import (
	"reflect"
	"strings"
	"testing"
)

// Equal fails the test unless got is want, to the depth of reflect.DeepEqual. what names it in the message.
func Equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}

// Text fails the test unless a text has all of the words.
func Text(t testing.TB, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s does not say %q:\n%s", what, word, text)
		}
	}
}

// Failure fails the test unless there is an error, and it says all of the words.
func Failure(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("there is no error, want one that says %q", words)
		return
	}
	Text(t, "the error", err.Error(), words...)
}

// Failed is Failure for what returns a value, too: expect.Failed(os.Open(name))(t, name).
func Failed[V any](_ V, err error) func(t testing.TB, words ...string) {
	return func(t testing.TB, words ...string) {
		t.Helper()
		Failure(t, err, words...)
	}
}
