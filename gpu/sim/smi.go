package sim

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Exit codes of the real nvidia-smi.
const (
	exitOK         = 0
	exitBadRequest = 2 // an argument is wrong
	exitNotFound   = 6 // the query found nothing
)

const smiHelp = `SIMULATED nvidia-smi of Pinion: it knows
  nvidia-smi                                           a table
  nvidia-smi -L                                        one line for each GPU
  nvidia-smi --query-gpu=FIELD,... --format=csv[,noheader][,nounits]
                                                       fields index uuid name memory.total driver_version
`

// SMI is the simulated nvidia-smi: it lists the simulated GPUs whose device nodes are in this container, numbered from 0 as
// NVML does. It writes to out and returns the exit code.
func SMI(args []string, out io.Writer) int {
	return smi{environ: os.Environ(), present: nodePresent}.run(args, out)
}

func nodePresent(minor int) bool {
	_, err := deviceNumber("/dev/" + nodeName(minor))
	return err == nil
}

// smi is the input of the tool in its container.
type smi struct {
	environ []string
	present func(minor int) bool
}

func (s smi) run(args []string, out io.Writer) int {
	request, err := readRequest(args)
	if err != nil {
		fmt.Fprintln(out, err)
		return exitBadRequest
	}
	if request.help {
		fmt.Fprint(out, smiHelp)
		return exitOK
	}
	devices := readDevices(s.environ, s.present)
	if len(devices) == 0 {
		fmt.Fprintln(out, "No devices were found")
		return exitNotFound
	}
	switch {
	case request.list:
		s.list(devices, out)
	case len(request.fields) > 0:
		s.query(devices, request, out)
	default:
		s.table(devices, out)
	}
	return exitOK
}

func (s smi) list(devices []toolDevice, out io.Writer) {
	for index, d := range devices {
		fmt.Fprintf(out, "GPU %d: %s (UUID: %s)\n", index, d.model, d.uuid)
	}
}

func (s smi) table(devices []toolDevice, out io.Writer) {
	fmt.Fprintln(out, "SIMULATED by Pinion: these GPUs are not there and compute nothing")
	fmt.Fprintf(out, "Driver Version: %s   CUDA Version: %s\n\n", lookup(s.environ, envDriver), lookup(s.environ, envCUDA))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "GPU\tName\tMemory\tUUID")
	for index, d := range devices {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\n", index, d.model, memory(d, " MiB"), d.uuid)
	}
	w.Flush()
}

func (s smi) query(devices []toolDevice, r smiRequest, out io.Writer) {
	header, unit := slices.Clone(r.fields), ""
	if !r.noUnits {
		unit = " MiB"
		for i, field := range header {
			if field == "memory.total" {
				header[i] += " [MiB]"
			}
		}
	}
	if !r.noHeader {
		fmt.Fprintln(out, strings.Join(header, ", "))
	}
	for index, d := range devices {
		row := make([]string, len(r.fields))
		for i, field := range r.fields {
			row[i] = s.field(field, index, d, unit)
		}
		fmt.Fprintln(out, strings.Join(row, ", "))
	}
}

func (s smi) field(name string, index int, d toolDevice, unit string) string {
	switch name {
	case "index":
		return strconv.Itoa(index)
	case "uuid":
		return d.uuid
	case "name":
		return d.model
	case "memory.total":
		return memory(d, unit)
	}
	return lookup(s.environ, envDriver)
}

// memory formats an amount of memory; it is "[N/A]" for unified memory, as in the real tool.
func memory(d toolDevice, unit string) string {
	if d.memoryMiB == 0 {
		return "[N/A]"
	}
	return strconv.FormatInt(d.memoryMiB, 10) + unit
}
