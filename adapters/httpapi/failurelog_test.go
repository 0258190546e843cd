package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// complaint is a line of the log that says of a failed request.
type complaint struct {
	Level, Msg, Route string
	Unsaid            int
}

// complaints are all those so far.
func (g *gate) complaints() (all []complaint) {
	g.t.Helper()
	for lines := json.NewDecoder(g.log); ; {
		var c complaint
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			g.t.Fatal(err)
		}
		if c.Level == "ERROR" || c.Level == "WARN" {
			all = append(all, c)
		}
	}
}

func TestFailuresThatGoOnDoNotFillTheLog(t *testing.T) {
	const status, monitors = "/internal/v1/monitors/:monitor_id/status", "/api/v1/monitors"
	synctest.Test(t, func(t *testing.T) {
		g := open(t)
		path := "/internal/v1/monitors/" + string(g.registers("Q")) + "/status"
		fails := func(err error) {
			t.Helper()
			g.store.Fail = func(context.Context, string) error { return err }
			g.put(path, fullReport)
		}
		expect := func(want ...complaint) {
			t.Helper()
			if got := g.complaints(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the log says %v, want %v", got, want)
			}
		}
		away := errors.New("no connection")
		for n := range 50 { // in 9.8 s
			fails(fmt.Errorf("try %d: %w", n, away))
			time.Sleep(196 * time.Millisecond)
		}
		expect(complaint{"ERROR", "a request failed", status, 0})
		g.get(monitors).is(http.StatusInternalServerError)
		expect(complaint{"ERROR", "a request failed", monitors, 0})
		fails(errors.Join(&json.SyntaxError{}, away))
		expect(complaint{"ERROR", "a request failed", status, 0})
		fails(context.DeadlineExceeded)
		expect(complaint{"WARN", "a request took too long", status, 0})
		time.Sleep(200 * time.Millisecond)
		fails(away)
		expect(complaint{"ERROR", "a request failed", status, 49})
		time.Sleep(10 * time.Second)
		fails(away)
		expect(complaint{"ERROR", "a request failed", status, 0})
	})
}
