package importer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/importer"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// fakeGateway accepts every registration but the one whose stream_url is "refused".
type fakeGateway struct {
	batches  int
	urls     []string
	fail     error // of every batch after the first
	limit    time.Duration
	limitHit bool
}

func (g *fakeGateway) RegisterBatch(_ context.Context, list, _ string, body []byte, dryRun bool) ([]apiclient.BatchResult, error) {
	if g.limit > 0 && !g.limitHit {
		g.limitHit = true
		return nil, &apiclient.RateLimited{Wait: g.limit}
	}
	if g.batches++; g.batches > 1 && g.fail != nil {
		return nil, g.fail
	}
	var results []apiclient.BatchResult
	for _, url := range streamURL.FindAllString(string(body), -1) {
		g.urls = append(g.urls, url)
		r := apiclient.BatchResult{StreamURL: url}
		if list == "channels" {
			r = apiclient.BatchResult{Channel: url}
		}
		switch {
		case url == "refused":
			r.Error = monitor.Errorf(monitor.InvalidURL, "no stream")
		case !dryRun && list == "channels":
			r.ChannelID = "0190a5d8"
		case !dryRun:
			r.MonitorID = "mon-1"
		}
		results = append(results, r)
	}
	return results, nil
}

// streamURL matches the URLs of the tests, in CSV and in JSON.
var streamURL = regexp.MustCompile(`\b(u\d+|a|b|refused)\b`)

// files has 250 registrations of streams u0 to u249 in each accepted form.
func files() map[string]string {
	var rows, objects []string
	for i := range 250 {
		rows = append(rows, fmt.Sprintf("u%d,\"x, y\"", i))
		objects = append(objects, fmt.Sprintf(`{"stream_url":"u%d"}`, i))
	}
	array := "[" + strings.Join(objects, ",") + "]"
	return map[string]string{
		"CSV":      "\ufeffstream_url,metadata.name\n" + strings.Join(rows, "\n"),
		"an array": "\n " + array,
		"a batch":  `{"monitors":` + array + `}`,
	}
}

func TestAFileOfAnyLengthIsSentInBatchesInOrder(t *testing.T) { // section 16.6
	for name, file := range files() {
		batches, err := importer.Divide([]byte(file))
		if err != nil || len(batches) != 3 || batches[2].First != 201 || batches[2].Size != 50 {
			t.Fatalf("%s: %d batches, %v", name, len(batches), err)
		}
		var results, messages bytes.Buffer
		g := &fakeGateway{}
		if err := importer.Import(t.Context(), g, batches, false, &results, &messages); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(g.urls) != 250 || g.urls[0] != "u0" || g.urls[249] != "u249" {
			t.Errorf("%s: %d registrations arrived", name, len(g.urls))
		}
		if last := "250\tregistered\tu249\tmon-1\n"; !strings.HasSuffix(results.String(), last) || !strings.HasSuffix(messages.String(), "250 registered, 0 refused\n") {
			t.Errorf("%s: %s%s", name, results.String(), messages.String())
		}
	}
}

func TestARefusedRegistrationIsPrintedAndFailsTheImport(t *testing.T) {
	batches, err := importer.Divide([]byte("stream_url\na\nrefused\nb\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dryRun := range []bool{false, true} {
		var results, messages bytes.Buffer
		err := importer.Import(t.Context(), &fakeGateway{}, batches, dryRun, &results, &messages)
		if err == nil || !strings.Contains(err.Error(), "1 of 3") || !strings.Contains(results.String(), "2\trefused\trefused\tINVALID_URL: no stream\n") {
			t.Errorf("dry run %t: %v\n%s", dryRun, err, results.String())
		}
		if dryRun != strings.Contains(messages.String(), "nothing was stored") || dryRun != strings.Contains(results.String(), "1\tvalid\ta\n") {
			t.Errorf("dry run %t: %s%s", dryRun, results.String(), messages.String())
		}
	}
}

func TestChannelsAreToldFromMonitors(t *testing.T) { // section 20.1
	for _, file := range []string{"channel,callback_url\na,x\nrefused,x\n", `[{"channel":"a"},{"channel":"refused"}]`, `{"channels":[{"channel":"a"},{"channel":"refused"}]}`} {
		batches, err := importer.Divide([]byte(file))
		if err != nil || len(batches) != 1 || batches[0].List != "channels" {
			t.Fatalf("%s: %+v, %v", file, batches, err)
		}
		var results, messages bytes.Buffer
		if err := importer.Import(t.Context(), &fakeGateway{}, batches, false, &results, &messages); err == nil {
			t.Error("a refused channel fails nothing")
		}
		if want := "1\tregistered\ta\t0190a5d8\n2\trefused\trefused\tINVALID_URL: no stream\n"; results.String() != want {
			t.Errorf("%s: %s, want %s", file, results.String(), want)
		}
	}
}

func TestAFailedBatchSaysWhereToContinue(t *testing.T) {
	batches, err := importer.Divide([]byte(files()["CSV"]))
	if err != nil {
		t.Fatal(err)
	}
	var results, messages bytes.Buffer
	err = importer.Import(t.Context(), &fakeGateway{fail: errors.New("the gateway is gone")}, batches, false, &results, &messages)
	if err == nil || !strings.Contains(err.Error(), "registrations 101 to 200: 100 registrations were accepted before this: the gateway is gone") {
		t.Errorf("error is %v", err)
	}
}

func TestARateLimitIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batches, err := importer.Divide([]byte("stream_url\na\n"))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var results, messages bytes.Buffer
		g := &fakeGateway{limit: 6 * time.Second}
		if err := importer.Import(t.Context(), g, batches, false, &results, &messages); err != nil || time.Since(began) != 6*time.Second || len(g.urls) != 1 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := importer.Import(ctx, &fakeGateway{limit: time.Hour}, batches, false, &results, &messages); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestAnotherFileIsRefusedWithWhatIsAccepted(t *testing.T) {
	for name, c := range map[string]struct{ file, message string }{
		"nothing":       {"", "empty"},
		"only names":    {"stream_url\n", "no registration"},
		"a short row":   {"a,b\n1\n", "valid CSV"},
		"broken JSON":   {"[{", "accepted are"},
		"another JSON":  {`{"streams":[]}`, "no monitors"},
		"an empty list": {"[]", "no registration"},
	} {
		if _, err := importer.Divide([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
