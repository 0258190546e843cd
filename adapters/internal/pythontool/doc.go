// Package pytool puts a question to one of the Python programs that find
// streams, yt-dlp and streamlink, and reads what is alike in their answers:
//
//	Tool.Ask ─ child.Run ─▶ Result       the tool ran to its end by itself
//	                      └▶ *Trouble     it did not: missing, too slow, killed, too loud
//	Fault                                which words mean "refused", which "network"
//	Line                                 its words as one line, without signed URLs
//
// Both tools do their HTTP through requests and urllib3 and so complain in the
// same words. The environment is passed on as it is, because HTTPS_PROXY,
// SSL_CERT_FILE and PYTHONPATH must reach them (decision O8).
package pythontool
