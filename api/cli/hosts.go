package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/client"
)

func hostsCommand(p Program) *cli.Command {
	return &cli.Command{
		Name:  "hosts",
		Usage: "list hosts and what they have left",
		Description: `CPU is in cores; CPU, MEMORY and GPUS are what is free of what there is.

Examples:
   pinion hosts
   pinion hosts -o wide       # with whole ids and addresses
   pinion hosts -o json`,
		Action: func(c *cli.Context) error {
			d, err := p.openDesk(c)
			if err != nil {
				return err
			}
			if d.output == outputJSON {
				return d.printDocument(c.Context, "/v1/hosts")
			}
			hosts, err := d.host.Hosts(c.Context)
			if err != nil {
				return err
			}
			return d.hostTable(hosts).write(d.out, d.columns())
		},
	}
}

// printDocument shows a document of the plain door as it is.
func (d *desk) printDocument(ctx context.Context, path string) error {
	var document json.RawMessage
	if err := d.host.Get(ctx, path, nil, &document); err != nil {
		return err
	}
	return printJSON(d.out, document)
}

func (d *desk) hostTable(hosts []client.Host) *table {
	t := &table{header: []string{"NAME", "ID", "CLUSTER", "STATUS", "CPU", "MEMORY", "GPUS", "TASKS", "VERSION"}}
	if d.output == outputWide {
		t.header = append(t.header, "ADDRESS", "DRIVER", "CUDA")
	}
	for _, h := range hosts {
		id := short(h.ID)
		if d.output == outputWide {
			id = h.ID
		}
		row := []string{h.Name, id, h.Cluster, hostStatus(h),
			cores(h.Free.CPU) + "/" + cores(h.CPU),
			mebibytes(h.Free.MemoryMiB) + "/" + mebibytes(h.MemoryMiB),
			gpuCount(h), strconv.Itoa(h.Tasks), h.Version}
		if d.output == outputWide {
			row = append(row, h.Address, h.GPUs.Driver, h.GPUs.CUDA)
		}
		t.add(row...)
	}
	return t
}

func hostStatus(h client.Host) string {
	if !h.Connected {
		return "LOST"
	}
	return string(h.Status)
}

func gpuCount(h client.Host) string {
	text := fmt.Sprintf("%d/%d", len(h.Free.GPUs), len(h.GPUs.Devices))
	if h.GPUs.Simulated {
		text += " SIMULATED"
	}
	return text
}

// hostNames maps the ids of hosts to their names.
func (d *desk) hostNames(ctx context.Context) (map[string]string, error) {
	hosts, err := d.host.Hosts(ctx)
	names := map[string]string{}
	for _, h := range hosts {
		names[h.ID] = h.Name
	}
	return names, err
}
