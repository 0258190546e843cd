// Package expect fails a test, and lets it go on, where something is not as it should be.
package expect

import (
	"reflect"
	"testing"
)

// Equal fails the test unless got is want, to the depth of reflect.DeepEqual. what names it in the message.
func Equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %+v, want %+v", what, got, want)
	}
}
