// Package adviser is an endpoint that gives second opinions about alerts (section 19.9). It verifies the signature of
// each question, reads its parts, and answers what a function decides.
package adviser

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
)

// schema is the version of questions that the endpoint knows.
const schema = 1

// maxQuestion limits a question, in bytes: three pictures are at most 1.2 MiB.
const maxQuestion = 4 << 20

// Question is a question about an alert.
type Question struct {
	Schema     int    `json:"schema"`
	Test       bool   `json:"test"` // nothing has happened
	IncidentID string `json:"incident_id"`
	Condition  string `json:"condition"`
	Event      struct {
		EventID   string `json:"event_id"`
		EventType string `json:"event_type"`
		MonitorID string `json:"monitor_id"`
		StreamURL string `json:"stream_url"`
	} `json:"event"`

	Pictures map[string][]byte `json:"-"` // JPEG or PNG, by their names: before, onset, level
}

// Answer is the JSON of an answer.
type Answer struct {
	Opinion    string   `json:"opinion"` // keep, drop or label
	Label      string   `json:"label,omitempty"`
	Confidence *float64 `json:"confidence,omitempty"`
	Severity   *int     `json:"severity,omitempty"`
	Reason     string   `json:"reason,omitempty"`
}

// Handler answers the questions that are signed with a key by what decide returns; nil: it is busy.
func Handler(key string, decide func(Question) *Answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuestion))
		if err != nil || !isSigned(key, r.Header, body) {
			http.Error(w, "the question is not signed with the key of this endpoint", http.StatusUnauthorized)
			return
		}
		q, err := read(r.Header.Get("Content-Type"), body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if q.Schema != schema {
			http.Error(w, "unknown version", http.StatusConflict)
			return
		}
		answer := decide(q)
		if answer == nil {
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // whoever asked may have given up
	})
}

func isSigned(key string, h http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(mac, h.Get("X-Timestamp")+".")
	_, _ = mac.Write(body)
	return hmac.Equal([]byte(h.Get("X-Signature-256")), []byte("sha256="+hex.EncodeToString(mac.Sum(nil))))
}

func read(contentType string, body []byte) (q Question, err error) {
	_, parameters, err := mime.ParseMediaType(contentType)
	if err != nil {
		return q, err
	}
	form, err := multipart.NewReader(strings.NewReader(string(body)), parameters["boundary"]).ReadForm(maxQuestion)
	if err != nil {
		return q, err
	}
	defer func() { _ = form.RemoveAll() }() // it is in memory
	if err := json.Unmarshal([]byte(strings.Join(form.Value["alert"], "")), &q); err != nil {
		return q, err
	}
	q.Pictures = map[string][]byte{}
	for name, files := range form.File {
		file, err := files[0].Open()
		if err != nil {
			return q, err
		}
		q.Pictures[name], err = io.ReadAll(file)
		_ = file.Close() // it was read
		if err != nil {
			return q, err
		}
	}
	return q, nil
}
