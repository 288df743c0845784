package gpu

import (
	"slices"
	"strconv"
	"strings"
)

// Attributes that each GPU has of its own. Placement constraints that compare them select among the GPUs of a host.
const (
	AttributeModel             = "pinion.gpu.model"
	AttributeMemory            = "pinion.gpu.memory-mib"         // missing where a GPU has no memory of its own to report
	AttributeComputeCapability = "pinion.gpu.compute-capability" // such as 9.0; missing where the host does not tell it
	AttributeMIGProfile        = "pinion.gpu.mig-profile"        // such as 1g.10gb; missing of whole GPUs
)

// IsAttribute reports whether GPUs have the attribute.
func IsAttribute(name string) bool {
	return name == AttributeModel || name == AttributeMemory || name == AttributeComputeCapability || name == AttributeMIGProfile
}

// AsksForMIG reports whether an expression of a placement constraint compares the profile of MIG devices: then it is for such devices alone.
func AsksForMIG(expression string) bool {
	return strings.Contains(expression, "attribute:"+AttributeMIGProfile)
}

// Attribute is the value of one of the attributes of GPUs.
func (d *Device) Attribute(name string) (value string, carried bool) {
	switch name {
	case AttributeModel:
		value = d.Model
	case AttributeMemory:
		if d.MemoryMiB > 0 {
			value = strconv.FormatInt(d.MemoryMiB, 10)
		}
	case AttributeComputeCapability:
		value = d.ComputeCapability
	case AttributeMIGProfile:
		value = d.Profile()
	}
	return value, value != ""
}

// SameAttributes reports whether no attribute tells the two apart.
func (d *Device) SameAttributes(o *Device) bool {
	return d.Model == o.Model && d.MemoryMiB == o.MemoryMiB && d.ComputeCapability == o.ComputeCapability && d.Profile() == o.Profile()
}

// HostAttribute is the host's value of an attribute of GPUs: all models, or profiles, with ", " between them; the smallest memory; the lowest compute
// capability. It is "" without GPUs and, of the numbers, when a GPU does not have the attribute.
func HostAttribute(devices []Device, name string) string {
	var values []string
	isText := name == AttributeModel || name == AttributeMIGProfile
	for i := range devices {
		value, carried := devices[i].Attribute(name)
		if !carried && !isText {
			return ""
		}
		if carried && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return ""
	}
	if isText {
		slices.Sort(values)
		return strings.Join(values, ", ")
	}
	return slices.MinFunc(values, compareNumbers)
}

// compareNumbers compares numbers with parts that have dots between them: 8.9 is below 12.0.
func compareNumbers(a, b string) int {
	number := func(text string) (parts []int64) {
		for part := range strings.SplitSeq(text, ".") {
			n, _ := strconv.ParseInt(part, 10, 64)
			parts = append(parts, n)
		}
		return parts
	}
	return slices.Compare(number(a), number(b))
}
