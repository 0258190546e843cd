package corpus_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/stream-monitor/stream-monitor/test/harness/corpus"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// library opens the library with the shared cache of this machine.
func library(t *testing.T) *corpus.Library {
	t.Helper()
	l, err := corpus.Open(corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
