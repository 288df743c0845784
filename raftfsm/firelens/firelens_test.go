package firelens

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatALogRouterIs(t *testing.T) {
	for _, c := range []struct {
		config Configuration
		says   string // empty: it is right
	}{
		{Configuration{Type: FluentBit}, ""},
		{Configuration{Type: Fluentd, Options: map[string]string{optionMetadata: "false", optionFileType: "file", optionFile: "/extra.conf"}}, ""},
		{Configuration{Type: "logstash"}, "type"},
		{Configuration{}, "type"},
		{Configuration{Type: FluentBit, Options: map[string]string{optionMetadata: "no"}}, optionMetadata},
		{Configuration{Type: FluentBit, Options: map[string]string{optionFileType: "s3", optionFile: "arn:aws:s3:::b/extra.conf"}}, "s3"},
		{Configuration{Type: FluentBit, Options: map[string]string{optionFileType: "file"}}, optionFile},
		{Configuration{Type: FluentBit, Options: map[string]string{optionFile: "/extra.conf"}}, optionFileType},
		{Configuration{Type: FluentBit, Options: map[string]string{optionFileType: "file", optionFile: "/extra.conf\n[OUTPUT]"}}, optionFile},
		{Configuration{Type: FluentBit, Options: map[string]string{optionFileType: "file", optionFile: "extra.conf"}}, optionFile},
		{Configuration{Type: FluentBit, Options: map[string]string{optionFileType: "file", optionFile: "/extra.yaml"}}, "YAML"},
		{Configuration{Type: FluentBit, Options: map[string]string{"config-file": "x"}}, "config-file"},
	} {
		if err := c.config.Check(); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}

// An option is one line of the router's configuration and no more, whatever it says.
func TestAnOptionStaysInItsLine(t *testing.T) {
	both := []string{Fluentd, FluentBit}
	for _, c := range []struct {
		name, value string
		taken       []string // by which types of routers
	}{
		{"Host", "logs.example.com", both}, {"net.keepalive", "on", both}, {"Header", "X-A ${TOKEN}", both}, {"Retry_Limit", "", both},
		{"host", "a\n[OUTPUT]", nil}, {"host", "a\r\n<match **>", nil}, {"host", "a\x00", nil}, {"host", "a\u0085b", nil}, {"host", "\xff", nil}, {"host", strings.Repeat("x", 1<<20), nil},
		{"host\n[OUTPUT]", "a", nil}, {"[OUTPUT]", "", nil}, {"<match", "**>", nil}, {"</match>", "", nil}, {"host port", "a", nil}, {"", "a", nil}, {"#host", "a", nil}, {"ho\u017ft", "a", nil}, {strings.Repeat("x", 129), "a", nil},
		{"@INCLUDE", "/etc/shadow", nil}, {"@include", "/etc/shadow", nil}, {"@SET", "A=1", nil}, {"@", "a", nil}, {"@id", "out", []string{Fluentd}},
		{"message", `"over`, []string{FluentBit}}, {"message", `"a" "b`, []string{FluentBit}}, {"message", `'over`, []string{FluentBit}}, {"message", `["over",`, []string{FluentBit}}, {"message", `{"a":`, []string{FluentBit}},
		{"message", `"a\"b"`, both}, {"message", `"a\"`, []string{FluentBit}}, {"message", `["a","b"]`, both}, {"message", `{"a":1}`, both}, {"message", `"#{ENV['A']}"`, both},
	} {
		for _, kind := range both {
			config := Configuration{Type: kind}
			err := config.CheckOptions(map[string]string{config.OutputOption(): "null", c.name: c.value}, nil)
			if taken := strings.Contains(fmt.Sprint(c.taken), kind); (err == nil) != taken {
				t.Errorf("%s: %.40q %.40q: %v", kind, c.name, c.value, err)
			}
		}
	}
}

func TestAnOutputNamesItsPlugin(t *testing.T) {
	bit := Configuration{Type: FluentBit}
	many := map[string]string{"Name": "null"}
	for i := range 101 {
		many[fmt.Sprint("o", i)] = ""
	}
	for _, c := range []struct {
		options map[string]string
		secret  []string
		right   bool
	}{
		{nil, nil, true}, // the file of the image has the outputs
		{map[string]string{IncludePattern: "error", ExcludePattern: "debug", BufferLimit: "100"}, nil, true},
		{map[string]string{"Name": "http", "Host": "h"}, []string{"HTTP_Passwd"}, true},
		{map[string]string{"Host": "h"}, nil, false},
		{map[string]string{"@type": "http", "Host": "h"}, nil, false},
		{nil, []string{"HTTP_Passwd"}, false},
		{map[string]string{"Name": "http"}, []string{IncludePattern}, false},
		{many, nil, false},
	} {
		if err := bit.CheckOptions(c.options, c.secret); (err == nil) != c.right {
			t.Errorf("%v %v: %v", c.options, c.secret, err)
		}
	}
}
