package outboundtest

import (
	"slices"
)

// Zone returns the DNS records of the names in the table.
func Zone() DNSRecords {
	return DNSRecords{
		"public.example":             {"93.184.216.34"},
		"six.example":                {"2606:4700:4700::1111"},
		"translated.example":         {"64:ff9b::5db8:d822"},
		"alias.example":              {"=public.example"},
		"xn--bcher-kva.example":      {"93.184.216.34"},
		"93-184-216-34.ip.example":   {"93.184.216.34"},
		"127.0.0.1.public.example":   {"93.184.216.34"},
		"public.internal":            {"93.184.216.34"},
		"localhost.example":          {"93.184.216.34"},
		"under_score.example":        {"93.184.216.34"},
		"1.example":                  {"93.184.216.34"},
		"0x7f.example":               {"93.184.216.34"},
		"loop.example":               {"127.0.0.1"},
		"loop6.example":              {"::1"},
		"mapped.example":             {"::ffff:127.0.0.1"},
		"zero.example":               {"0.0.0.0"},
		"127.0.0.1.ip.example":       {"127.0.0.1"},
		"93.184.216.34.loop.example": {"127.0.0.1"},
		"inside.example":             {"10.1.2.3"},
		"ula.example":                {"fd00::1"},
		"translated-inside.example":  {"64:ff9b::a9fe:a9fe"},
		"alias-inside.example":       {"=loop.example"},
		"xn--intrieur-d1a.example":   {"127.0.0.1"},
		"metadata.google.internal":   {"169.254.169.254"},
		"instance-data.ec2.internal": {"169.254.169.254"},
		"kubernetes.default.svc":     {"10.96.0.1"},
		"receiver.internal":          {"10.0.0.9"},
		"router.home.arpa":           {"192.168.1.1"},
		"metadata.tencentyun.com":    {"169.254.0.23"},
	}
}

// hostNames are names. The verdict depends on their addresses alone.
var hostNames = slices.Concat(
	names(Allowed, "93.184.216.34", "public.example", "PuBLiC.eXaMPLe", "public.example.", "alias.example", "user:password@public.example",
		"bücher.example", "b%C3%BCcher.example", "xn--bcher-kva.example", "ｐｕｂｌｉｃ．ｅｘａｍｐｌｅ",
		"93-184-216-34.ip.example", "127.0.0.1.public.example", "public.internal", "localhost.example", "under_score.example", "1.example", "0x7f.example"),
	names(Allowed, "2606:4700:4700::1111", "six.example"),
	names(Allowed, "64:ff9b::5db8:d822", "translated.example"), // in a network that has IPv4 by NAT64 only

	spellings(Refused, "", "localhost", "LocalHost", "localhost.", "api.localhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "local\u00adhost"),

	names(Refused, "127.0.0.1", "loop.example", "loop.example.", "mapped.example", "127.0.0.1.ip.example", "93.184.216.34.loop.example",
		"alias-inside.example", "intérieur.example", "XN--intrieur-d1a.example"),
	names(Refused, "::1", "loop6.example"),
	names(Refused, "0.0.0.0", "zero.example"),
	names(Refused, "10.1.2.3", "inside.example"),
	names(Refused, "fd00::1", "ula.example"),
	names(Refused, "64:ff9b::a9fe:a9fe", "translated-inside.example"),
	names(Refused, "169.254.169.254", "metadata.google.internal", "instance-data.ec2.internal"),
	names(Refused, "169.254.0.23", "metadata.tencentyun.com"),
	names(Refused, "10.96.0.1", "kubernetes.default.svc"),
	names(Refused, "10.0.0.9", "receiver.internal"),
	names(Refused, "192.168.1.1", "router.home.arpa"),

	names(Unresolvable, "", "later.example", "later.internal"),
)
