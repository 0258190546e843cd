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

// loggedFailure is a line of the log of level WARN or ERROR.
type loggedFailure struct {
	Level, Msg, Route string
	Suppressed        int
}

// failures reads the lines that were logged since the last call.
func (api *testAPI) failures() (all []loggedFailure) {
	api.t.Helper()
	for lines := json.NewDecoder(api.log); ; {
		var c loggedFailure
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			api.t.Fatal(err)
		}
		if c.Level == "ERROR" || c.Level == "WARN" {
			all = append(all, c)
		}
	}
}

func TestOneFailureOfEachKindIsLoggedPerInterval(t *testing.T) {
	const (
		status, monitors = "/internal/v1/monitors/:monitor_id/status", "/api/v1/monitors"
		failed           = "request failed, its caller got 500: correct the cause that error names, usually the database"
		late             = "request not answered in time, its caller got 503 and may repeat it: check the database"
	)
	synctest.Test(t, func(t *testing.T) {
		api := newTestAPI(t)
		path := "/internal/v1/monitors/" + string(api.register("Q")) + "/status"
		fail := func(err error) {
			t.Helper()
			api.store.Fail = func(context.Context, string) error { return err }
			api.put(path, completeReport)
		}
		expectLogged := func(want ...loggedFailure) {
			t.Helper()
			if got := api.failures(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("the log says %v, want %v", got, want)
			}
		}
		unreachable := errors.New("no connection")
		for n := range 50 { // in 9.8 s
			fail(fmt.Errorf("try %d: %w", n, unreachable))
			time.Sleep(196 * time.Millisecond)
		}
		expectLogged(loggedFailure{"ERROR", failed, status, 0})
		api.get(monitors).hasStatus(http.StatusInternalServerError)
		expectLogged(loggedFailure{"ERROR", failed, monitors, 0})
		fail(errors.Join(&json.SyntaxError{}, unreachable))
		expectLogged(loggedFailure{"ERROR", failed, status, 0})
		fail(context.DeadlineExceeded)
		expectLogged(loggedFailure{"WARN", late, status, 0})
		time.Sleep(200 * time.Millisecond)
		fail(unreachable)
		expectLogged(loggedFailure{"ERROR", failed, status, 49})
		time.Sleep(10 * time.Second)
		fail(unreachable)
		expectLogged(loggedFailure{"ERROR", failed, status, 0})
	})
}
