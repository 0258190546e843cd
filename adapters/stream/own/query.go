package own

import (
	"net/url"
	"slices"
	"strings"
)

// withQuery returns a URL with the parameters of a query, which begins with a question mark. Those that it has stay as they
// are, and none is written anew: a signature may cover their form.
func withQuery(rawURL, query string) string {
	address, fragment, hasFragment := strings.Cut(rawURL, "#")
	address, present, _ := strings.Cut(address, "?")
	all := pairs(present)
	for _, pair := range pairs(strings.TrimPrefix(query, "?")) {
		if !slices.ContainsFunc(all, func(has string) bool { return nameOf(has) == nameOf(pair) }) {
			all = append(all, pair)
		}
	}
	if len(all) > 0 {
		address += "?" + strings.Join(all, "&")
	}
	if hasFragment {
		address += "#" + fragment
	}
	return address
}

// withoutQuery returns a URL without the parameters of a query, and otherwise as it is.
func withoutQuery(rawURL, query string) string {
	address, fragment, hasFragment := strings.Cut(rawURL, "#")
	address, present, _ := strings.Cut(address, "?")
	secret := pairs(strings.TrimPrefix(query, "?"))
	if left := slices.DeleteFunc(pairs(present), func(pair string) bool { return slices.Contains(secret, pair) }); len(left) > 0 {
		address += "?" + strings.Join(left, "&")
	}
	if hasFragment {
		address += "#" + fragment
	}
	return address
}

func pairs(query string) (all []string) {
	for pair := range strings.SplitSeq(query, "&") {
		if pair != "" {
			all = append(all, pair)
		}
	}
	return all
}

func nameOf(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	if decoded, err := url.QueryUnescape(name); err == nil {
		return decoded
	}
	return name
}
