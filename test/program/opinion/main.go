// Command opinion is an example of an endpoint that gives second opinions about alerts (section 19.9). It drops those
// of the conditions that its flag names, and keeps all others.
//
//	SECOND_OPINION_KEY=KEY go run ./test/program/opinion -listen 127.0.0.1:8090 -drop frozen,quiet
//
// The gateway then has SECOND_OPINION_URL=http://127.0.0.1:8090, the same SECOND_OPINION_KEY, and
// CALLBACK_ALLOWED_NETWORKS=127.0.0.0/8.
package main

import (
	"flag"
	"log"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/adviser"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8090", "address of the endpoint")
	drop := flag.String("drop", "", "conditions whose messages are dropped, separated by commas")
	flag.Parse()
	dropped := strings.Split(*drop, ",")
	handler := adviser.Handler(os.Getenv("SECOND_OPINION_KEY"), func(q adviser.Question) *adviser.Answer {
		log.Printf("asked about %s of %s, with %d pictures", q.Condition, q.Event.StreamURL, len(q.Pictures))
		if slices.Contains(dropped, q.Condition) && !q.Test {
			return &adviser.Answer{Opinion: "drop", Reason: q.Condition + " is usual here"}
		}
		return &adviser.Answer{Opinion: "keep"}
	})
	server := http.Server{Addr: *listen, Handler: handler, ReadTimeout: 10 * time.Second}
	log.Fatal(server.ListenAndServe())
}
