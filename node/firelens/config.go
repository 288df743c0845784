package firelens

import (
	"maps"
	"slices"
	"strings"

	"pinion/raftfsm/firelens"
)

// The files and ports of a router, which are those of Amazon's agent: images for ECS count on them.
const (
	// runDir is the directory of the socket in the router's container.
	runDir     = "/var/run"
	socketName = "fluent.sock"
	socketPath = runDir + "/" + socketName

	fluentBitFile = "/fluent-bit/etc/fluent-bit.conf"
	fluentdFile   = "/fluentd/etc/fluent.conf"

	forwardPort = "24224"
	healthPort  = "8877"
	healthTag   = "firelens-healthcheck"
	loopback    = "127.0.0.1"
	memoryLimit = "25MB" // of an input of Fluent Bit; beyond it takes no more lines, which wait in the files of the log
)

// router has the parts of a router's configuration.
type router struct {
	config *firelens.Configuration
	// listen is the address at which it takes records over TCP; empty: it takes none.
	listen string
	// metadata are the fields of each record, in the order in which they are added.
	metadata [][2]string
	outputs  []output
}

// output is the destination of the lines of a container.
type output struct {
	container string
	options   map[string]string // secrets are references to variables
}

// path is the path of the configuration in the router's image.
func (r *router) path() string {
	if r.config.Type == firelens.Fluentd {
		return fluentdFile
	}
	return fluentBitFile
}

// text is the configuration, in the order of Amazon's agent: inputs, filters, the file of the image, outputs.
func (r *router) text() string {
	w := &writer{fluentd: r.config.Type == firelens.Fluentd}
	r.inputs(w)
	for _, o := range r.outputs {
		w.grep(o, firelens.IncludePattern, "regexp", "Regex")
		w.grep(o, firelens.ExcludePattern, "exclude", "Exclude")
	}
	r.addMetadata(w)
	if file := r.config.File(); file != "" {
		w.include(file)
	}
	if r.listen != "" && !w.fluentd {
		w.section("OUTPUT", "", "Name", "null", "Match", healthTag)
	}
	for _, o := range r.outputs {
		w.output(o, r.config.OutputOption())
	}
	return w.String()
}

func (r *router) inputs(w *writer) {
	if w.fluentd {
		w.section("source", "", "@type", "unix", "path", socketPath)
		if r.listen != "" {
			w.section("source", "", "@type", "forward", "bind", r.listen, "port", forwardPort)
		}
		return
	}
	w.section("INPUT", "", "Name", "forward", "unix_path", socketPath, "Mem_Buf_Limit", memoryLimit)
	if r.listen != "" {
		w.section("INPUT", "", "Name", "forward", "Listen", r.listen, "Port", forwardPort)
		w.section("INPUT", "", "Name", "tcp", "Tag", healthTag, "Listen", loopback, "Port", healthPort)
	}
}

func (r *router) addMetadata(w *writer) {
	if len(r.metadata) == 0 {
		return
	}
	if w.fluentd {
		w.open("filter", "**")
		w.line("@type", "record_transformer")
		w.open("record", "")
		for _, field := range r.metadata {
			w.line(field[0], field[1])
		}
		w.close("record")
		w.close("filter")
		return
	}
	w.open("FILTER", "")
	w.line("Name", "record_modifier")
	w.line("Match", "*")
	for _, field := range r.metadata {
		w.line("Record", field[0]+" "+field[1])
	}
}

// writer writes the sections of a configuration. Names and values have no line breaks: see firelens.Configuration.CheckOptions.
type writer struct {
	strings.Builder
	fluentd bool
	depth   int
}

func (w *writer) indent() { w.WriteString(strings.Repeat("    ", w.depth)) }

// open begins a section; of is what it matches, in fluentd.
func (w *writer) open(name, of string) {
	if !w.fluentd {
		w.depth = 1
		w.WriteString("\n[" + name + "]\n")
		return
	}
	if w.depth == 0 {
		w.WriteString("\n")
	}
	w.indent()
	w.WriteString("<" + strings.TrimSpace(name+" "+of) + ">\n")
	w.depth++
}

func (w *writer) close(name string) {
	if w.fluentd {
		w.depth--
		w.indent()
		w.WriteString("</" + name + ">\n")
	}
}

func (w *writer) line(name, value string) {
	w.indent()
	w.WriteString(strings.TrimSpace(name+" "+value) + "\n")
}

func (w *writer) include(file string) {
	directive := "@INCLUDE "
	if w.fluentd {
		directive = "@include "
	}
	w.WriteString("\n" + directive + file + "\n")
}

// section is a whole one, of names and values in turn.
func (w *writer) section(name, of string, lines ...string) {
	w.open(name, of)
	for i := 0; i < len(lines); i += 2 {
		w.line(lines[i], lines[i+1])
	}
	w.close(name)
}

// match is the pattern of the tags of a container's lines, sent by the host or by the container itself.
func (w *writer) match(container string) string {
	if w.fluentd {
		return container + "-firelens**"
	}
	return container + "-firelens*"
}

// grep lets only some of the lines of a container by.
func (w *writer) grep(o output, option, inFluentd, inFluentBit string) {
	pattern := o.options[option]
	if pattern == "" {
		return
	}
	if !w.fluentd {
		w.section("FILTER", "", "Name", "grep", "Match", w.match(o.container), inFluentBit, "log "+pattern)
		return
	}
	w.open("filter", w.match(o.container))
	w.line("@type", "grep")
	w.section(inFluentd, "", "key", "log", "pattern", pattern)
	w.close("filter")
}

// output is the section of a container, unless it leaves that to the file of the image.
func (w *writer) output(o output, pluginOption string) {
	plugin := o.options[pluginOption]
	if plugin == "" {
		return
	}
	name := "OUTPUT"
	if w.fluentd {
		name = "match"
	}
	w.open(name, w.match(o.container))
	w.line(pluginOption, plugin)
	if !w.fluentd {
		w.line("Match", w.match(o.container))
	}
	for _, option := range slices.Sorted(maps.Keys(o.options)) {
		switch option {
		case pluginOption, firelens.IncludePattern, firelens.ExcludePattern, firelens.BufferLimit:
		default:
			w.line(option, o.options[option])
		}
	}
	w.close(name)
}
