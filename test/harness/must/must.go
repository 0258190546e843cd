// Package must ends a test if what it needs fails.
package must

import "testing"

// Do ends the test if there is an error.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns v, or ends the test if there is an error: must.Get(os.ReadFile(name))(t).
func Get[V any](v V, err error) func(t testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		Do(t, err)
		return v
	}
}
