package importer_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/importer"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// fakeGateway accepts every registration but the one whose stream_url is "refused".
type fakeGateway struct {
	batches  int
	urls     []string
	fail     error // of every batch after the first
	limit    time.Duration
	limitHit bool
}

func (g *fakeGateway) RegisterBatch(_ context.Context, list, _ string, body []byte, o apiclient.BatchOptions) ([]apiclient.BatchResult, error) {
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
		case !o.DryRun && list == "channels":
			r.ChannelID = "0190a5d8"
		case !o.DryRun:
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
		batches, err := importer.Divide([]byte(file), importer.UTF8)
		if err != nil || len(batches) != 3 || batches[2].First != 201 || batches[2].Size != 50 {
			t.Fatalf("%s: %d batches, %v", name, len(batches), err)
		}
		var results, messages bytes.Buffer
		g := &fakeGateway{}
		if err := importer.Import(t.Context(), g, batches, apiclient.BatchOptions{}, &results, &messages); err != nil {
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
	batches, err := importer.Divide([]byte("stream_url\na\nrefused\nb\n"), importer.UTF8)
	if err != nil {
		t.Fatal(err)
	}
	for _, dryRun := range []bool{false, true} {
		var results, messages bytes.Buffer
		err := importer.Import(t.Context(), &fakeGateway{}, batches, apiclient.BatchOptions{DryRun: dryRun}, &results, &messages)
		if err == nil || !strings.Contains(err.Error(), "1 of 3") || !strings.Contains(results.String(), "2\trefused\trefused\tINVALID_URL: no stream\n") {
			t.Errorf("dry run %t: %v\n%s", dryRun, err, results.String())
		}
		if dryRun != strings.Contains(messages.String(), "nothing was stored") || dryRun != strings.Contains(results.String(), "1\tvalid\ta\n") {
			t.Errorf("dry run %t: %s%s", dryRun, results.String(), messages.String())
		}
	}
}

func TestARefusedDuplicateIsPrintedWithThePageOfWhatIsThere(t *testing.T) { // section 16.6
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"results":[{"index":0,"stream_url":"a","error":{"code":"DUPLICATE_MONITOR","message":"is watched","existing_id":"mon-7"}}]}`)
	}))
	defer server.Close()
	batches, err := importer.Divide([]byte("stream_url\na\n"), importer.UTF8)
	must.Do(t, err)
	var results bytes.Buffer
	_ = importer.Import(t.Context(), apiclient.New(server.URL+"/", "key", nil), batches, apiclient.BatchOptions{}, &results, io.Discard)
	expect.Equal(t, "the line", results.String(), "1\trefused\ta\tDUPLICATE_MONITOR: is watched\t"+server.URL+"/monitors/mon-7\n")
}

func TestChannelsAreToldFromMonitors(t *testing.T) { // section 20.1
	for _, file := range []string{"channel,callback_url\na,x\nrefused,x\n", `[{"channel":"a"},{"channel":"refused"}]`, `{"channels":[{"channel":"a"},{"channel":"refused"}]}`} {
		batches, err := importer.Divide([]byte(file), importer.UTF8)
		if err != nil || len(batches) != 1 || batches[0].List != "channels" {
			t.Fatalf("%s: %+v, %v", file, batches, err)
		}
		var results, messages bytes.Buffer
		if err := importer.Import(t.Context(), &fakeGateway{}, batches, apiclient.BatchOptions{}, &results, &messages); err == nil {
			t.Error("a refused channel fails nothing")
		}
		if want := "1\tregistered\ta\t0190a5d8\n2\trefused\trefused\tINVALID_URL: no stream\n"; results.String() != want {
			t.Errorf("%s: %s, want %s", file, results.String(), want)
		}
	}
}

func TestAFailedBatchSaysWhereToContinue(t *testing.T) {
	batches, err := importer.Divide([]byte(files()["CSV"]), importer.UTF8)
	if err != nil {
		t.Fatal(err)
	}
	var results, messages bytes.Buffer
	err = importer.Import(t.Context(), &fakeGateway{fail: errors.New("the gateway is gone")}, batches, apiclient.BatchOptions{}, &results, &messages)
	if err == nil || !strings.Contains(err.Error(), "registrations 101 to 200: 100 registrations were accepted before this: the gateway is gone") {
		t.Errorf("error is %v", err)
	}
}

func TestARateLimitIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		batches, err := importer.Divide([]byte("stream_url\na\n"), importer.UTF8)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var results, messages bytes.Buffer
		g := &fakeGateway{limit: 6 * time.Second}
		if err := importer.Import(t.Context(), g, batches, apiclient.BatchOptions{}, &results, &messages); err != nil || time.Since(began) != 6*time.Second || len(g.urls) != 1 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := importer.Import(ctx, &fakeGateway{limit: time.Hour}, batches, apiclient.BatchOptions{}, &results, &messages); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestAFileIsReadAsSpreadsheetsSaveIt(t *testing.T) { // section 16.6
	const want = "stream_url,labels.show,metadata.note\na,朝の番組～①,\"x, y\"\n"
	const semicolons = "stream_url;labels.show;metadata.note\r\na;朝の番組～①;x, y\r\n"
	shiftJIS := "\x92\xa9\x82\xcc\x94\xd4\x91\x67\x81\x60\x87\x40" // with characters of Windows
	utf16 := func(order binary.AppendByteOrder) string {
		raw := order.AppendUint16(nil, 0xfeff)
		for _, unit := range utf16.Encode([]rune(strings.ReplaceAll(semicolons, ";", "\t"))) {
			raw = order.AppendUint16(raw, unit)
		}
		return string(raw)
	}
	for name, c := range map[string]struct {
		file    string
		charset importer.Charset
	}{
		"semicolons":                     {semicolons, importer.UTF8},
		"CSV UTF-8 of Excel":             {"\ufeff" + semicolons, importer.UTF8},
		"a mark, whatever was said":      {"\ufeff" + semicolons, importer.ShiftJIS},
		"tabs":                           {strings.ReplaceAll(semicolons, ";", "\t"), importer.UTF8},
		"Unicode text of Excel":          {utf16(binary.LittleEndian), importer.UTF8},
		"the other UTF-16":               {utf16(binary.BigEndian), importer.ShiftJIS},
		"CSV of Excel in Japan":          {strings.Replace(semicolons, "朝の番組～①", shiftJIS, 1), importer.ShiftJIS},
		"Shift_JIS that nobody has said": {strings.Replace(semicolons, "朝の番組～①", shiftJIS, 1), importer.UTF8},
		"UTF-8 that is no Shift_JIS":     {semicolons + "é;;\n", importer.ShiftJIS},
		"half a character":               {utf16(binary.LittleEndian) + "x", importer.UTF8},
	} {
		batches, err := importer.Divide([]byte(c.file), c.charset)
		problem := map[string]string{"Shift_JIS that nobody has said": "line 2 is not UTF-8", "UTF-8 that is no Shift_JIS": "cannot be read", "half a character": "cut off"}[name]
		switch {
		case problem != "":
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: the error is %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case string(batches[0].Body) != want:
			t.Errorf("%s: %s", name, batches[0].Body)
		}
	}
}

// knowing answers as a gateway that watches a and b already; a differs.
type knowing struct{ fakeGateway }

func (g *knowing) RegisterBatch(ctx context.Context, list, contentType string, body []byte, o apiclient.BatchOptions) ([]apiclient.BatchResult, error) {
	results, err := g.fakeGateway.RegisterBatch(ctx, list, contentType, body, o)
	for n := range results {
		changed := []monitor.Difference{}
		switch results[n].StreamURL {
		case "a":
			changed = append(changed, monitor.Difference{Field: "callback_url"}, monitor.Difference{Field: "labels.team", From: "x", To: "y"})
			fallthrough
		case "b":
			results[n].MonitorID, results[n].Changed = "mon-2", &changed
		}
	}
	return results, err
}

func TestWhatIsWatchedAlreadyIsUpdatedLineByLine(t *testing.T) { // section 16.6
	batches, err := importer.Divide([]byte("stream_url\na\nu1\nb\nrefused\n"), importer.UTF8)
	if err != nil {
		t.Fatal(err)
	}
	const lines = "1\tchanged\ta\tmon-2\tcallback_url, labels.team x → y\n2\t%s\n3\tunchanged\tb\tmon-2\n4\trefused\trefused\tINVALID_URL: no stream\n"
	for _, dryRun := range []bool{false, true} {
		added, said := "registered\tu1\tmon-1", "1 registered, 1 changed, 1 stay as they are, 1 refused\n"
		if dryRun {
			added, said = "valid\tu1", "dry run: 1 would be registered, 1 changed, 1 stay as they are, 1 would be refused; nothing was stored\n"
		}
		var results, messages bytes.Buffer
		err := importer.Import(t.Context(), &knowing{}, batches, apiclient.BatchOptions{DryRun: dryRun, Update: true}, &results, &messages)
		if err == nil || !strings.Contains(err.Error(), "1 of 4") {
			t.Errorf("the error is %v", err)
		}
		expect.Equal(t, "the lines", results.String(), fmt.Sprintf(lines, added))
		expect.Equal(t, "the message", messages.String(), said)
	}
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
		if _, err := importer.Divide([]byte(c.file), importer.UTF8); err == nil || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
