package ui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed all:dist
var embedded embed.FS

// Pages are the paths of the page app, as routes of gin. All of them are answered with
// dist/index.html, which chooses the page.
var Pages = []string{
	"/", "/incidents", "/incidents/:incident_id", "/monitors/:monitor_id", "/deliveries", "/destinations", "/channels", "/channels/:channel_id", "/ended", "/register", "/settings", "/signin",
}

// AssetPath is the route of the files whose names contain their digest.
const AssetPath = "/assets/:file"

const (
	index  = "index.html"
	assets = "assets/"
	keep   = ".gitkeep"
)

// Dashboard is an http.Handler of the pages and their files.
type Dashboard struct {
	files  map[string]file // by path in dist
	policy string
}

// file is one file of dist as it is sent.
type file struct {
	mediaType string
	plain     []byte
	gzipped   []byte // nil: it does not become smaller
	etag      string
}

// New returns the dashboard that the build embedded. mediaOrigin is where links to
// evidence lead if that is another origin, such as https://monitor.example.com; or "".
func New(mediaOrigin string) (*Dashboard, error) {
	dist, err := fs.Sub(embedded, "dist")
	if err != nil {
		return nil, fmt.Errorf("read the embedded dashboard: %w", err)
	}
	return newFrom(dist, mediaOrigin)
}

func newFrom(dist fs.FS, mediaOrigin string) (*Dashboard, error) {
	d := &Dashboard{files: map[string]file{}, policy: contentSecurityPolicy(mediaOrigin)}
	err := fs.WalkDir(dist, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == keep {
			return err
		}
		content, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		d.files[name], err = newFile(name, content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the embedded dashboard: %w", err)
	}
	return d, nil
}

// Built reports whether the binary contains the pages.
func (d *Dashboard) Built() bool { return len(d.files[index].plain) > 0 }

// Files returns the paths of the files beside the pages and the assets, such as
// /favicon.svg, in alphabetical order.
func (d *Dashboard) Files() (paths []string) {
	for name := range d.files {
		if name != index && !strings.HasPrefix(name, assets) {
			paths = append(paths, "/"+name)
		}
	}
	slices.Sort(paths)
	return paths
}

// ServeHTTP answers with a file if the path is that of one, else with the page app. It
// is for GET and HEAD, for the paths of Pages, AssetPath and Files.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", d.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer") // the path of a sign-in link is a permission
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")

	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	f, found := d.files[name]
	isAsset := strings.HasPrefix(name, assets)
	switch {
	case isAsset && !found:
		header.Set("Cache-Control", "no-store")
		http.Error(w, "This file is not part of this version of the dashboard. Reload the page.", http.StatusNotFound)
		return
	case isAsset:
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	case !d.Built():
		notBuilt(w)
		return
	default:
		header.Set("Cache-Control", "no-cache")
		if !found {
			f = d.files[index]
		}
	}
	f.serve(w, r)
}

// newFile compresses a file once, so that no request has to.
func newFile(name string, content []byte) (file, error) {
	mediaType := mime.TypeByExtension(path.Ext(name))
	if known, ok := mediaTypes[path.Ext(name)]; ok {
		mediaType = known
	}
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return file{}, err
	}
	_, err = z.Write(content)
	if err := errors.Join(err, z.Close()); err != nil {
		return file{}, err
	}
	digest := sha256.Sum256(content)
	f := file{mediaType: mediaType, plain: content, etag: hex.EncodeToString(digest[:16])}
	if b.Len() < len(content) {
		f.gzipped = b.Bytes()
	}
	return f, nil
}

// mediaTypes are those of a build. The tables of the operating system differ.
var mediaTypes = map[string]string{
	".css":         "text/css; charset=utf-8",
	".csv":         "text/csv; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".ico":         "image/x-icon",
	".js":          "text/javascript; charset=utf-8",
	".json":        "application/json",
	".png":         "image/png",
	".svg":         "image/svg+xml",
	".webmanifest": "application/manifest+json",
	".woff2":       "font/woff2",
}

// serve sends the file, compressed if the client accepts it, or 304 if the client has it.
func (f file) serve(w http.ResponseWriter, r *http.Request) {
	body, etag := f.plain, `"`+f.etag+`"`
	if f.gzipped != nil {
		w.Header().Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			w.Header().Set("Content-Encoding", "gzip")
			body, etag = f.gzipped, `"`+f.etag+`-gzip"`
		}
	}
	w.Header().Set("ETag", etag)
	if slices.ContainsFunc(strings.Split(r.Header.Get("If-None-Match"), ","), func(given string) bool {
		return strings.TrimPrefix(strings.TrimSpace(given), "W/") == etag
	}) {
		w.Header().Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", f.mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // a client that has gone is no failure
	}
}

// acceptsGzip reads Accept-Encoding (RFC 9110, 12.5.3). A list with gzip;q=0 refuses it.
func acceptsGzip(values []string) bool {
	for coding := range strings.SplitSeq(strings.Join(values, ","), ",") {
		name, weight, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(coding, " ", "")), ";")
		if name == "gzip" {
			return !strings.HasPrefix(weight, "q=0") || strings.Trim(weight, "q=0.") != ""
		}
	}
	return false
}
