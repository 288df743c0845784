package containerd_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// outcome is an outcome of a pull from a hostile registry. Every outcome is in bounded time and leaves nothing of a failed pull.
type outcome int

const (
	refused outcome = iota
	pulled          // odd, and within what the specification allows
	either          // chance decides, or the version of containerd
)

// documentFaults are lies in what a registry serves. Some draw their size from the origin's source of randomness.
var documentFaults = []struct {
	name    string
	outcome outcome
	lie     documentLie
}{
	{"a layer that is not what its digest says", refused, func(o *origin) { o.corrupt(o.layerDoc) }},
	{"a configuration that is not what its digest says", refused, func(o *origin) { o.corrupt(o.manifest["config"].(map[string]any)) }},
	{"a manifest that is not what its digest says", refused, func(o *origin) {
		d := o.platformed("amd64")
		o.serveIndex([]any{d})
		name := d["digest"].(string)
		o.documents[name] = document{o.documents[name].mediaType, flip(o, o.documents[name].content)}
	}},
	{"a digest that is none", refused, func(o *origin) {
		o.layerDoc["digest"] = []any{"", "sha256:", "sha256:zz", "md5:" + strings.Repeat("0", 32), "sha256:../../../etc/passwd", strings.Repeat("sha256:", 1000), 7}[o.random.IntN(7)]
		o.serveManifest(o.manifest)
	}},
	{"a layer that is longer than it says", refused, func(o *origin) { o.resize(o.layerDoc, -1-o.random.IntN(len(o.layer)-1)) }},
	{"a layer that is shorter than it says", refused, func(o *origin) { o.resize(o.layerDoc, 1+o.random.IntN(1<<20)) }},
	{"a configuration of another length", refused, func(o *origin) { o.resize(o.manifest["config"].(map[string]any), 1-2*o.random.IntN(2)) }},
	{"a size that no layer has", refused, func(o *origin) {
		o.layerDoc["size"] = []any{-1, 0, -4096, int64(math.MinInt64), int64(math.MaxInt64), 1e300, "12", nil}[o.random.IntN(8)]
		o.serveManifest(o.manifest)
	}},
	{"thousands of manifests for other machines", refused, func(o *origin) { o.serveIndex(o.thousands("riscv64")) }},
	{"hundreds of manifests, one of them right", pulled, func(o *origin) {
		all := o.thousands("riscv64")[:100+o.random.IntN(900)]
		all[o.random.IntN(len(all))] = o.platformed("amd64")
		o.serveIndex(all)
	}},
	{"thousands of manifests for this machine that are not there", refused, func(o *origin) { o.serveIndex(o.thousands("amd64")) }},
	{"an index in an index", either, func(o *origin) {
		d := o.platformed("amd64")
		for range 2 + o.random.IntN(200) {
			d = o.serveIndex([]any{d})
		}
	}},
	{"an index without an end", refused, func(o *origin) {
		d := map[string]any{"mediaType": ocispec.MediaTypeImageIndex, "digest": digest.FromString("nothing").String(), "size": 1}
		for range 300 {
			d = o.serveIndex([]any{d, d, d})
		}
	}},
	{"an index of nothing", refused, func(o *origin) { o.serveIndex(nil) }},
	{"a manifest that says it is something else", refused, func(o *origin) {
		o.serve([]string{"text/html", "application/json", "image/png", ""}[o.random.IntN(4)], raw(o.manifest))
	}},
	{"a layer that says it is something else", either, func(o *origin) {
		o.layerDoc["mediaType"] = []any{"text/html", "", ocispec.MediaTypeImageLayerZstd, ocispec.MediaTypeImageLayer, ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageLayerGzip + "+encrypted"}[o.random.IntN(6)]
		o.serveManifest(o.manifest)
	}},
	{"a configuration that says it is something else", refused, func(o *origin) {
		o.manifest["config"].(map[string]any)["mediaType"] = []any{"text/html", "", ocispec.MediaTypeImageLayerGzip, ocispec.MediaTypeImageIndex}[o.random.IntN(4)]
		o.serveManifest(o.manifest)
	}},
	{"a layer that lies elsewhere", pulled, func(o *origin) { // it is here as well, and comes from here
		o.foreign("file:///etc/passwd", "http://169.254.169.254/latest/meta-data/", "http://"+o.victim+"/secret", "gopher://x")
	}},
	{"a layer that is nowhere else", refused, func(o *origin) {
		delete(o.blobs, o.layerDoc["digest"].(string))
		o.foreign("file:///etc/passwd", "http://169.254.169.254/latest/meta-data/", "http://"+o.victim+"/secret")
	}},
	{"schema 1", refused, func(o *origin) {
		o.serve([]string{"application/vnd.docker.distribution.manifest.v1+prettyjws", "application/vnd.docker.distribution.manifest.v1+json"}[o.random.IntN(2)],
			raw(map[string]any{"schemaVersion": 1, "name": "x", "tag": "1", "fsLayers": []any{map[string]any{"blobSum": o.layerDoc["digest"]}}, "history": []any{map[string]any{"v1Compatibility": "{}"}}}))
	}},
	{"a layer many times", either, func(o *origin) {
		times := 2 + o.random.IntN(30)
		o.repeat(o.layerDoc, times)
		diff := o.config["rootfs"].(map[string]any)["diff_ids"].([]any)[0]
		o.config["rootfs"] = map[string]any{"type": "layers", "diff_ids": repeated(diff, times)}
		o.serveConfig(raw(o.config))
	}},
	{"more layers than the configuration has", refused, func(o *origin) { o.repeat(o.layerDoc, 2+o.random.IntN(5000)); o.serveManifest(o.manifest) }},
	{"more layers than a file system can have", refused, func(o *origin) {
		o.repeat(o.layerDoc, 600)
		diff := o.config["rootfs"].(map[string]any)["diff_ids"].([]any)[0]
		o.config["rootfs"] = map[string]any{"type": "layers", "diff_ids": repeated(diff, 601)}
		o.serveConfig(raw(o.config))
	}},
	{"layers of another image", refused, func(o *origin) {
		o.config["rootfs"] = map[string]any{"type": "layers", "diff_ids": []any{digest.FromString(fmt.Sprint(o.random.Int())).String()}}
		o.serveConfig(raw(o.config))
	}},
	{"diff ids that are none", refused, func(o *origin) {
		o.config["rootfs"] = []any{nil, "x", map[string]any{}, map[string]any{"type": "layers", "diff_ids": []any{"x"}}, map[string]any{"type": "layers", "diff_ids": []any{nil}},
			map[string]any{"type": "layers", "diff_ids": []any{"sha256:../../.."}}}[o.random.IntN(6)]
		o.serveConfig(raw(o.config))
	}},
	{"a configuration that is no configuration", refused, func(o *origin) {
		o.serveConfig([][]byte{[]byte("null"), []byte("[]"), []byte("{"), []byte("\x00\xff"), bytes.Repeat([]byte("["), 100_000), []byte(`{"rootfs":7}`)}[o.random.IntN(6)])
	}},
	{"a configuration of many MiB", refused, func(o *origin) { o.config["x"] = strings.Repeat("x", 16<<20); o.serveConfig(raw(o.config)) }},
	{"a manifest that is no manifest", refused, func(o *origin) {
		o.serve(ocispec.MediaTypeImageManifest, [][]byte{[]byte("null"), []byte("[]"), []byte("{"), []byte("\x00\xff"), bytes.Repeat([]byte(`{"a":`), 50_000), []byte(`{"layers":7}`), []byte("{}")}[o.random.IntN(7)])
	}},
	{"a manifest of many MiB", refused, func(o *origin) {
		o.manifest["annotations"] = map[string]any{"x": strings.Repeat("x", 5<<20)}
		o.serveManifest(o.manifest)
	}},
	{"a manifest of tens of thousands of layers", refused, func(o *origin) { o.repeat(o.layerDoc, 15_000); o.serveManifest(o.manifest) }},
	{"a manifest of 300,000 layers that are nothing", refused, func(o *origin) { o.repeat(map[string]any{}, 300_000); o.serveManifest(o.manifest) }},
	{"an index of 300,000 manifests that are nothing", refused, func(o *origin) { o.serveIndex(repeated(map[string]any{}, 300_000)) }},
	{"a configuration of a million steps that are nothing", refused, func(o *origin) {
		o.config["history"] = repeated(map[string]any{}, 1_000_000)
		o.serveConfig(raw(o.config))
	}},
	{"a manifest that is an index too", refused, func(o *origin) {
		o.manifest["manifests"] = []any{o.platformed("amd64")}
		o.serveManifest(o.manifest)
	}},
	{"a layer that is no archive", refused, func(o *origin) {
		noise := flip(o, bytes.Repeat([]byte("no archive"), 1000))
		o.serveLayer(ocispec.MediaTypeImageLayerGzip, gzipped(noise), noise)
	}},
	{"an archive that ends early", refused, func(o *origin) {
		cut := o.layerTar[:600+o.random.IntN(2000)]
		o.serveLayer(ocispec.MediaTypeImageLayerGzip, gzipped(cut), cut)
	}},
	{"compression that ends early", refused, func(o *origin) {
		o.serveLayer(ocispec.MediaTypeImageLayerGzip, o.layer[:20+o.random.IntN(len(o.layer)-40)], o.layerTar)
	}},
	{"something behind the compressed layer", either, func(o *origin) {
		o.serveLayer(ocispec.MediaTypeImageLayerGzip, append(bytes.Clone(o.layer), flip(o, make([]byte, 1000))...), o.layerTar)
	}},
	{"a file of negative length", refused, func(o *origin) {
		odd := bytes.Clone(o.layerTar)
		copy(odd[124:136], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00")
		o.serveLayer(ocispec.MediaTypeImageLayerGzip, gzipped(odd), odd)
	}},
	{"a zstd frame that asks for all memory", refused, func(o *origin) {
		o.serveLayer(ocispec.MediaTypeImageLayerZstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, byte(0xf8 - 8*o.random.IntN(4)), 0x02, 0x10, 0x00, 'x', 0xff, 0xff, 0xff}, o.layerTar)
	}},
	{"a platform that is none", either, func(o *origin) {
		o.config["os"], o.config["architecture"] = strings.Repeat("x", 10_000), "\x1b[2J\u0000"
		o.serveConfig(raw(o.config))
	}},
}

// diskFaults are archives that unpack to more than the disk takes. Each runs alone.
var diskFaults = []struct {
	name string
	lie  documentLie
}{
	{"a gzip bomb", func(o *origin) { o.bomb(ocispec.MediaTypeImageLayerGzip, gzipped) }},
	{"a zstd bomb", func(o *origin) { o.bomb(ocispec.MediaTypeImageLayerZstd, zstandard) }},
}

func (o *origin) corrupt(descriptor map[string]any) {
	name := descriptor["digest"].(string)
	o.blobs[name] = flip(o, o.blobs[name])
}

// flip changes one bit.
func flip(o *origin, content []byte) []byte {
	changed := bytes.Clone(content)
	changed[o.random.IntN(len(changed))] ^= 1 << o.random.IntN(8)
	return changed
}

func (o *origin) resize(descriptor map[string]any, by int) {
	descriptor["size"] = descriptor["size"].(int) + by
	o.serveManifest(o.manifest)
}

// thousands of descriptors of manifests that are not there.
func (o *origin) thousands(architecture string) (all []any) {
	for i := range 2000 + o.random.IntN(6000) {
		d := map[string]any{"mediaType": ocispec.MediaTypeImageManifest, "digest": digest.FromString(fmt.Sprint(i)).String(), "size": 500}
		d["platform"] = map[string]any{"os": "linux", "architecture": architecture}
		all = append(all, d)
	}
	return all
}

func (o *origin) foreign(urls ...any) {
	o.layerDoc["urls"] = []any{urls[o.random.IntN(len(urls))]}
	o.layerDoc["mediaType"] = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
	o.serveManifest(o.manifest)
}

func (o *origin) repeat(descriptor map[string]any, times int) {
	o.manifest["layers"] = repeated(descriptor, times)
}

func repeated(v any, times int) []any {
	all := make([]any, times)
	for i := range all {
		all[i] = v
	}
	return all
}

// bomb makes the layer one huge file: a compressed piece of it, many times. Both formats allow that.
func (o *origin) bomb(mediaType string, compress func([]byte) []byte) {
	const piece, pieces = 16 << 20, 512
	var head bytes.Buffer
	if err := tar.NewWriter(&head).WriteHeader(&tar.Header{Name: "bomb", Mode: 0o644, Size: piece * pieces}); err != nil {
		panic(err)
	}
	o.serveLayer(mediaType, append(compress(head.Bytes()), bytes.Repeat(compress(make([]byte, piece)), pieces)...), o.layerTar)
}

func zstandard(content []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(content, nil)
}
