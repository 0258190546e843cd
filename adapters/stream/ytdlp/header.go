package ytdlp

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// header returns what the requests for the media of an answer carry: the fields of the first format that is used, and
// the cookies of all of them.
func (v *video) header(list []watch.Rendition, manifest string) *watch.RequestHeader {
	var fields map[string]string
	var cookies []watch.Cookie
	for _, f := range v.Formats {
		if !f.isHLS() && !f.isDASH() {
			continue
		}
		if fields == nil {
			_ = json.Unmarshal(f.HTTPHeaders, &fields) // what has another form goes without
		}
		for _, c := range readCookies(f.Cookies) {
			if !slices.Contains(cookies, c) {
				cookies = append(cookies, c)
			}
		}
	}
	urls := []string{manifest}
	for _, r := range list {
		urls = append(urls, r.URL)
	}
	return watch.NewRequestHeader(fields, cookies, urls)
}

// readCookies reads the cookies of a format: NAME=VALUE; Domain=…; Path=…; Secure; NAME=VALUE; …
func readCookies(raw json.RawMessage) (cookies []watch.Cookie) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil
	}
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var last watch.Cookie // takes the attributes that belong to no cookie
		of := &last
		if n := len(cookies); n > 0 {
			of = &cookies[n-1]
		}
		switch name {
		case "Domain":
			of.Domain = value
		case "Path":
			of.Path = value
		case "Secure":
			of.Secure = true
		case "Expires", "Version", "":
		default:
			cookies = append(cookies, watch.Cookie{Name: name, Value: unquote(value)})
		}
	}
	return cookies
}

// escape matches what Python's http.cookies writes for a character of a quoted value.
var escape = regexp.MustCompile(`\\(?:[0-3][0-7][0-7]|.)`)

// unquote returns the value that Python's http.cookies has quoted.
func unquote(value string) string {
	inner, opened := strings.CutPrefix(value, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	if !opened || !closed {
		return value
	}
	return escape.ReplaceAllStringFunc(inner, func(e string) string {
		if code, err := strconv.ParseUint(e[1:], 8, 8); err == nil && len(e) == 4 {
			return string([]byte{byte(code)})
		}
		return e[1:]
	})
}
