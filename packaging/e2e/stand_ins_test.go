package e2e

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"pinion/node/containerd/containerdtest"
)

// startStandIns starts a registry with the images that the README and the examples name. Each is busybox with a program of the
// image's name that does what the example wants of it: it prints its arguments, or serves a page.
func startStandIns(t *testing.T) (address string) {
	const prints, serves = "#!/bin/sh\necho $0 $@\n", "#!/bin/sh\ntrap exit TERM\nmkdir -p /tmp/www/v1 && cd /tmp/www && echo '{}' | tee v1/models api health index.html\nhttpd -f -p %d & wait\n"
	const fetches = "#!/bin/sh\nfor url; do :; done\nexec wget -q -O - $url\n" // in the place of curl
	image := func(entrypoint, program, script string) v1.Image {
		base := withConfig(t, containerdtest.Busybox(t), func(c *v1.Config) {
			c.Env, c.Cmd = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, []string{"python"}
			if entrypoint != "" {
				c.Entrypoint, c.Cmd = []string{entrypoint}, nil
			}
		})
		return withProgram(t, base, program, script)
	}
	return containerdtest.Registry(t, map[string]v1.Image{
		"my/trainer:latest":                             image("", "python", prints),
		"my/worker:latest":                              image("", "python", prints),
		"my/report:latest":                              image("", "python", prints),
		"nvidia/cuda:12.4.1-base-ubuntu22.04":           image("", "python", prints),
		"brentley/tensorflow-gpu:8904d11":               image("", "python", prints),
		"pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime": image("", "torchrun", prints),
		"vllm/vllm-openai:v0.11.0":                      withProgram(t, image("vllm", "vllm", fmt.Sprintf(serves, 8000)), "curl", fetches),
		"jupyter/pytorch-notebook:cuda12-python-3.12":   image("", "start-notebook.py", fmt.Sprintf(serves, 8888)),
		"library/nginx:1.29":                            image("nginx", "nginx", fmt.Sprintf(serves, 80)),
		"library/python:3.12-slim":                      image("", "python", prints),
		"curlimages/curl:8.11.1":                        image("curl", "curl", fetches),
	})
}

// withProgram is the image with one more file in its /bin.
func withProgram(t *testing.T, image v1.Image, name, script string) v1.Image {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	must(t, w.WriteHeader(&tar.Header{Name: "bin/" + name, Mode: 0o755, Size: int64(len(script))}))
	_, err := io.WriteString(w, script)
	must(t, err)
	must(t, w.Close())
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	must(t, err)
	image, err = mutate.AppendLayers(image, layer)
	must(t, err)
	return image
}

// mirrorOf is a registry configuration that makes address the mirror of registries.
func mirrorOf(t *testing.T, address string, registries ...string) (dir string) {
	dir = t.TempDir()
	for _, registry := range registries {
		certs := filepath.Join(dir, "certs.d", registry)
		must(t, os.MkdirAll(certs, 0o755))
		text := fmt.Sprintf("[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", address)
		must(t, os.WriteFile(filepath.Join(certs, "hosts.toml"), []byte(text), 0o644))
	}
	return dir
}

// terraformMirror is a configuration of Terraform that takes the provider for AWS from a folder of this machine; "" when
// Terraform or the provider is not there.
func terraformMirror(t *testing.T) string {
	if _, err := exec.LookPath("terraform"); err != nil {
		return ""
	}
	home, _ := os.UserHomeDir()
	for _, folder := range []string{os.Getenv("TF_PLUGIN_DIR"), filepath.Join(home, ".terraform.d/plugins"), "/usr/share/terraform/plugins", "/usr/local/share/terraform/plugins", "/opt/tf-plugins"} {
		found, _ := filepath.Glob(filepath.Join(folder, "registry.terraform.io/hashicorp/aws/*/*"))
		if folder == "" || len(found) == 0 {
			continue
		}
		file := filepath.Join(t.TempDir(), "terraformrc")
		must(t, os.WriteFile(file, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror { path = %q }\n}\n", folder), 0o600))
		return file
	}
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
