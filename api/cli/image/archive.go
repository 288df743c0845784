package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"pinion/api/cli/exit"
	"pinion/api/cli/format"
	"pinion/api/cli/invocation"
	"pinion/api/client"
	"pinion/packaging/atomicfile"
)

func importCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "import",
		Usage:     "Bring the images of an archive into the pool: no registry is needed",
		ArgsUsage: "FILE|-",
		Description: `The archive is what 'docker save' writes, or an OCI image layout as a tar file; "-" is standard input. From then on the name of the image means
what was imported, in the whole pool, until 'pinion image rm' removes it. Three hosts keep it, or those that --on selects; all others take it from
them when a task needs it.

Examples:
   docker save my/app:1 | pinion image import -
   pinion image import app.tar
   pinion image import layout.tar --name my/app:2 --on 'attribute:rack == 7'`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "`NAME` of the one image in the archive", DefaultText: "what the archive says"},
			&cli.StringFlag{Name: "on", Usage: "the hosts that an `EXPRESSION` of the cluster query language selects keep it", DefaultText: "any 3 hosts"},
		},
		Action: func(c *cli.Context) error {
			inv, path, err := oneImage(system, c)
			if err != nil {
				return err
			}
			archive, size, err := openArchive(path)
			if err != nil {
				return err
			}
			defer archive.Close()
			imported, err := client.ImportImages(c.Context, inv.Client, archive, size, c.String("name"), c.String("on"), reportSent(inv, size))
			if err != nil {
				return err
			}
			for _, image := range imported {
				if err := spread(c.Context, inv, image); err != nil {
					return err
				}
			}
			return printPinned(inv, imported)
		},
	}
}

// openArchive opens a file, or a copy of standard input, which is sent after it was read once.
func openArchive(path string) (archive *os.File, size int64, err error) {
	if path == "-" {
		return spool(os.Stdin)
	}
	if archive, err = os.Open(path); err != nil {
		return nil, 0, err
	}
	info, err := archive.Stat()
	if err != nil {
		archive.Close()
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		archive.Close()
		return nil, 0, exit.Usagef("%s is no file: name an archive, or - for standard input", path)
	}
	return archive, info.Size(), nil
}

// spool copies a stream into a file without a name, which is gone with this process.
func spool(from io.Reader) (*os.File, int64, error) {
	file, err := os.CreateTemp("", "pinion-image-*")
	if err != nil {
		return nil, 0, err
	}
	size, err := io.Copy(file, from)
	err = errors.Join(err, os.Remove(file.Name()))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Close()
		return nil, 0, fmt.Errorf("standard input: %w", err)
	}
	return file, size, nil
}

// reportSent says from time to time how much of an archive has been sent.
func reportSent(inv *invocation.Invocation, size int64) func(n int) {
	sent, reported := int64(0), inv.Now()
	return func(n int) {
		sent += int64(n)
		if now := inv.Now(); now.Sub(reported) >= reportInterval && sent < size {
			reported = now
			inv.Notef("sent %s of %s", format.Bytes(sent), format.Bytes(size))
		}
	}
}

// spread has the hosts that are to keep an image pull it now: they would within a minute. One that cannot tries again by itself.
func spread(ctx context.Context, inv *invocation.Invocation, image client.PinnedImage) error {
	hosts, err := inv.Client.Hosts(ctx)
	if err != nil {
		return err
	}
	keep := map[string]bool{}
	for _, id := range image.Keepers {
		keep[id] = true
	}
	var keepers []client.Host
	for _, h := range hosts {
		if keep[h.ID] && h.Connected {
			keepers = append(keepers, h)
		}
	}
	if len(keepers) < len(image.Keepers) || len(keepers) == 0 {
		inv.Notef("%d of the %d hosts that are to keep %s are connected; the others pull it when they are.", len(keepers), len(image.Keepers), format.ImageName(image.Name))
	}
	if _, err := pullOn(ctx, inv, keepers, image.Name+"@"+image.Digest); err != nil {
		inv.Notef("%v; the host tries again every minute.", err)
	}
	return nil
}

func printPinned(inv *invocation.Invocation, all []client.PinnedImage) error {
	if inv.Output == invocation.JSON {
		return inv.PrintJSON(all)
	}
	for _, i := range all {
		if _, err := fmt.Fprintln(inv.Out, format.ImageName(i.Name)); err != nil {
			return err
		}
	}
	return nil
}

func exportCommand(system invocation.System) *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "Write an image as an archive, which 'docker load' reads",
		ArgsUsage: "IMAGE FILE|-",
		Description: `FILE appears when it is complete. "-" is standard output.

Examples:
   pinion image export my/app:1 app.tar
   pinion image export my/app:1 - | docker load`,
		Action: func(c *cli.Context) error {
			inv, image, host, path, err := imageAndTarget(system, c, "a file")
			if err != nil {
				return err
			}
			write := func(to io.Writer) error {
				return client.ExportImage(c.Context, inv.Client, host.ID, image.Name, image.Digest, to)
			}
			if path != "-" {
				return atomicfile.Fill(path, 0o644, write)
			}
			if inv.Screen.Terminal {
				return exit.Usagef("an archive is nothing for a terminal: name a file, or send it on with a pipe")
			}
			return write(inv.Out)
		},
	}
}
