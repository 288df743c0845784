package spec

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pinion/gpu"
)

// Attribute is a name with an optional value that a host carries or a definition requires.
type Attribute struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Attributes that follow from a host's GPUs, beside those that each GPU has of its own: gpu.HostAttribute. They belong to the inventory: what
// else a host says under these names does not count. A host without GPUs has none of them, one whose driver is not known none of the two about it.
const (
	AttributeGPUCount = "pinion.gpu.count" // healthy or not
	AttributeDriver   = "pinion.driver-version"
	AttributeCUDA     = "pinion.cuda-version" // highest that the driver serves
	// AttributeVRAMEnforcement names the means that keeps a container to its share of a GPU's memory: mps, or none.
	AttributeVRAMEnforcement = "pinion.vram-enforcement"
)

// Attributes that people give hosts to say what these share: tasks of a gang talk fastest within one of each.
const (
	AttributeFabric = "pinion.fabric" // the link domain, such as one NVLink or InfiniBand fabric
	AttributeRack   = "pinion.rack"
)

// AttributeZone is the one that people give hosts to say in which availability zone these are, ECS's.
const AttributeZone = "ecs.availability-zone"

// AttributeSubnet is the name of the network of tasks that a host has a subnet of, under ECS's name for it.
const AttributeSubnet = "ecs.subnet-id"

// Attributes that say what `pinion up --volume`, `--file-system`, `--device`, `--bucket` and `--allow` give to tasks, with commas between.
const (
	AttributeDevices     = "pinion.devices"
	AttributeBuckets     = "pinion.buckets"
	AttributeVolumes     = "pinion.volumes"
	AttributeFileSystems = "pinion.file-systems"
	AttributeAllow       = "pinion.allow"
)

// AttributeHostID is the id of a host, for constraints of the pool's own: it is in no list of attributes.
const AttributeHostID = "pinion.host-id"

// derivedAttributes follow from other fields of a host, so its own word for them does not count.
var derivedAttributes = []string{
	gpu.AttributeModel, gpu.AttributeMemory, gpu.AttributeComputeCapability, gpu.AttributeMIGProfile, AttributeGPUCount, AttributeDriver, AttributeCUDA, AttributeVRAMEnforcement, AttributeVolumes, AttributeFileSystems, AttributeDevices, AttributeBuckets, AttributeAllow, AttributeSubnet,
}

// ReservedAttribute says whether the name is one that Pinion decides itself: what follows from a host's GPUs or from the
// version that runs there, and room for more of it.
func ReservedAttribute(name string) bool {
	if name == AttributeFabric || name == AttributeRack {
		return false
	}
	for _, prefix := range []string{"pinion.", "ecs.capability.", "com.amazonaws."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Attribute is the value of the host's attribute: what follows from its GPUs and its version, what PutAttributes gave it,
// or what it says of itself. This is what constraints compare and what DescribeContainerInstances shows.
func (h *Host) Attribute(name string) (value string, carried bool) {
	if value, carried, known := h.capability(name); known {
		return value, carried
	}
	if name == AttributeHostID {
		return h.ID, true
	}
	if !slices.Contains(derivedAttributes, name) {
		if value, carried = h.CustomAttributes[name]; !carried {
			value, carried = h.Attributes[name]
		}
		return value, carried
	}
	switch name {
	case AttributeVolumes:
		value = joinText(h.Volumes)
	case AttributeFileSystems:
		value = joinText(h.FileSystems)
	case AttributeDevices:
		value = strings.Join(h.Devices, ",")
	case AttributeBuckets:
		value = strings.Join(h.Buckets, ",")
	case AttributeAllow:
		value = strings.Join(h.Allow, ",")
	case AttributeSubnet:
		if h.hasSubnet() {
			value = h.TaskNetwork.Name
		}
	default:
		value = h.gpuAttribute(name)
	}
	return value, value != ""
}

// hasSubnet reports whether tasks of the host can have addresses of their own.
func (h *Host) hasSubnet() bool { return h.TaskNetwork != nil && h.TaskNetwork.Subnet != "" }

// InSubnets places a task on a host with a subnet of one of the networks.
func InSubnets(names []string) PlacementConstraint {
	return PlacementConstraint{Type: MemberOf, Expression: "attribute:" + AttributeSubnet + " in ['" + strings.Join(names, "', '") + "']"}
}

func joinText[T fmt.Stringer](given []T) string {
	all := make([]string, len(given))
	for i, one := range given {
		all[i] = one.String()
	}
	return strings.Join(all, ",")
}

func (h *Host) gpuAttribute(name string) (value string) {
	if len(h.GPUs.Devices) == 0 {
		return ""
	}
	switch name {
	case AttributeGPUCount:
		value = strconv.Itoa(gpu.WholeGPUs(h.GPUs.Devices))
	case AttributeDriver:
		value = h.GPUs.Driver
	case AttributeCUDA:
		value = h.GPUs.CUDA
	case AttributeVRAMEnforcement:
		value = h.vramEnforcement()
	default:
		value = gpu.HostAttribute(h.GPUs.Devices, name)
	}
	return value
}

// AllAttributes are the attributes of the host by name: its own, those of PutAttributes, those derived from its GPUs, and its
// capabilities. The map belongs to the caller.
func (h *Host) AllAttributes() map[string]string {
	attributes := maps.Clone(h.Attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	maps.Copy(attributes, h.CustomAttributes)
	for _, name := range derivedAttributes {
		delete(attributes, name)
		if value, carried := h.Attribute(name); carried {
			attributes[name] = value
		}
	}
	for _, c := range capabilities {
		delete(attributes, c.name)
	}
	for _, c := range h.Capabilities() {
		attributes[c.Name] = c.Value
	}
	return attributes
}

// vramEnforcement returns the enforcement that the host says it has, as far as it is true: nothing but what SharesGPUs relies on.
func (h *Host) vramEnforcement() string {
	if h.SharesGPUs() {
		return h.GPUs.VRAMEnforcement
	}
	return "none"
}

// MaxCustomAttributes bounds the custom attributes of a host, beside its own.
const MaxCustomAttributes = 10

// ErrTooManyAttributes refuses custom attributes beyond MaxCustomAttributes.
var ErrTooManyAttributes = fmt.Errorf("a host can have %d custom attributes: delete some first", MaxCustomAttributes)

// ChangedAttributes are the custom attributes of the host after a change, which gets a map that is not nil. ErrTooManyAttributes.
func (h *Host) ChangedAttributes(change func(map[string]string)) (map[string]string, error) {
	custom := maps.Clone(h.CustomAttributes)
	if custom == nil {
		custom = map[string]string{}
	}
	if change(custom); len(custom) > MaxCustomAttributes {
		return nil, fmt.Errorf("host %s (%s): %w", h.ID, h.Name, ErrTooManyAttributes)
	}
	return custom, nil
}

// HostAttribute is an attribute of one host. Value may be empty: the attribute is there and says no more.
type HostAttribute struct {
	HostID string `json:"hostId"`
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
}
