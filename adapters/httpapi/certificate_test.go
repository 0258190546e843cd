package httpapi_test

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi"
	"github.com/stream-monitor/stream-monitor/test/harness/certificate"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

func TestARenewedCertificateIsUsedWithoutARestart(t *testing.T) {
	certFile, keyFile, _ := certificate.New(t, time.Now().Add(time.Hour), "127.0.0.1")
	newCert, newKey, _ := certificate.New(t, time.Now().Add(time.Hour), "127.0.0.1")
	put := func(file, from string) {
		raw := []byte("no certificate")
		if from != "" {
			var err error
			if raw, err = os.ReadFile(from); err != nil {
				t.Fatal(err)
			}
		}
		must.Do(t, os.WriteFile(file, raw, 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		get := must.Get(httpapi.LoadCertificate(certFile, keyFile, slog.New(slog.NewTextHandler(&log, nil))))(t)
		first := get()
		put(certFile, newCert)
		if get() != first {
			t.Error("the files are read at every connection")
		}
		time.Sleep(10 * time.Second)
		if get() != first {
			t.Error("a new certificate is used without its key")
		}
		put(keyFile, newKey)
		time.Sleep(10 * time.Second)
		second := get()
		if second == first {
			t.Error("the new certificate is not used")
		}
		put(certFile, "")
		for range 3 {
			time.Sleep(10 * time.Second)
			if get() != second {
				t.Error("an invalid file has replaced the certificate")
			}
		}
		if n := strings.Count(log.String(), "cannot be used"); n != 2 {
			t.Errorf("%d warnings, want one for each invalid state:\n%s", n, &log)
		}
	})
}
