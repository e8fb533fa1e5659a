package report

import (
	"encoding/json"
	"strconv"
)

// The types of this file are the parts of a processed profile of the Firefox
// Profiler, version 60: docs-developer/CHANGELOG-formats.md and
// src/types/profile.ts of firefox-devtools/profiler. Tables are lists of columns;
// a row that points nowhere has null there. Times are milliseconds.

const (
	firefoxVersion         = 60
	firefoxGecko           = 32 // the format of Firefox itself that goes with it
	firefoxLibraryResource = 1
	firefoxMark            = "Mark"
)

// nullable are indexes, null for negative ones.
type nullable []int

// MarshalJSON implements json.Marshaler.
func (n nullable) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 2+6*len(n))
	out = append(out, '[')
	for i, v := range n {
		if i > 0 {
			out = append(out, ',')
		}
		if v < 0 {
			out = append(out, "null"...)
		} else {
			out = strconv.AppendInt(out, int64(v), 10)
		}
	}
	return append(out, ']'), nil
}

// list is a column that is never null.
type list[T any] []T

// MarshalJSON implements json.Marshaler.
func (l list[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

type (
	firefoxProfile struct {
		Meta     firefoxMeta      `json:"meta"`
		Libs     []firefoxLib     `json:"libs"`
		Counters []firefoxCounter `json:"counters"`
		Shared   firefoxShared    `json:"shared"`
		Threads  []*firefoxThread `json:"threads"`
	}
	firefoxMeta struct {
		Interval       float64           `json:"interval"`
		Start          float64           `json:"startTime"`          // since 1970
		StartTime      float64           `json:"profilingStartTime"` // since Start
		EndTime        float64           `json:"profilingEndTime"`
		ProcessType    int               `json:"processType"`
		Product        string            `json:"product"`
		StackWalk      int               `json:"stackwalk"`
		Debug          bool              `json:"debug"`
		Version        int               `json:"version"`
		Processed      int               `json:"preprocessedProfileVersion"`
		Symbolicated   bool              `json:"symbolicated"`
		ImportedFrom   string            `json:"importedFrom"`
		OneStackType   bool              `json:"usesOnlyOneStackType"`
		NotOnSearchfox bool              `json:"sourceCodeIsNotOnSearchfox"`
		KeepOrder      bool              `json:"keepProfileThreadOrder"`
		Visible        []int             `json:"initialVisibleThreads"`
		Selected       []int             `json:"initialSelectedThreads"`
		OS             string            `json:"oscpu"`
		Platform       string            `json:"platform"`
		Arguments      string            `json:"arguments"`
		Categories     []firefoxCategory `json:"categories"`
		Schema         []firefoxSchema   `json:"markerSchema"`
		Extra          []firefoxExtra    `json:"extra,omitempty"`
	}
	firefoxExtra struct { // a section of what the profiler says of the profile
		Label   string              `json:"label"`
		Entries []firefoxExtraEntry `json:"entries"`
	}
	firefoxExtraEntry struct {
		Label  string `json:"label"`
		Format string `json:"format"`
		Value  string `json:"value"`
	}
	firefoxCategory struct {
		Name          string   `json:"name"`
		Color         string   `json:"color"`
		Subcategories []string `json:"subcategories"`
	}
	firefoxSchema struct {
		Name    string         `json:"name"`
		Display []string       `json:"display"`
		Table   string         `json:"tableLabel"`
		Chart   string         `json:"chartLabel"`
		Tooltip string         `json:"tooltipLabel"`
		Fields  []firefoxField `json:"fields"`
	}
	firefoxField struct {
		Key    string `json:"key"`
		Label  string `json:"label"`
		Format string `json:"format"`
	}
	firefoxLib struct {
		Arch      string  `json:"arch"`
		Name      string  `json:"name"`
		Path      string  `json:"path"`
		DebugName string  `json:"debugName"`
		DebugPath string  `json:"debugPath"`
		Breakpad  string  `json:"breakpadId"`
		Code      *string `json:"codeId"`
	}
	firefoxShared struct {
		Stacks    firefoxStackTable    `json:"stackTable"`
		Frames    firefoxFrameTable    `json:"frameTable"`
		Funcs     firefoxFuncTable     `json:"funcTable"`
		Resources firefoxResourceTable `json:"resourceTable"`
		Symbols   firefoxSymbolTable   `json:"nativeSymbols"`
		Sources   firefoxSourceTable   `json:"sources"`
		Strings   list[string]         `json:"stringArray"`
	}
	firefoxStackTable struct {
		Frame  list[int] `json:"frame"`
		Prefix nullable  `json:"prefix"`
		Length int       `json:"length"`
	}
	firefoxFrameTable struct {
		Address     list[int64] `json:"address"` // from the beginning of the library's image, -1 unknown
		Depth       list[int]   `json:"inlineDepth"`
		Category    list[int]   `json:"category"`
		Subcategory list[int]   `json:"subcategory"`
		Func        list[int]   `json:"func"`
		Symbol      nullable    `json:"nativeSymbol"`
		Window      nullable    `json:"innerWindowID"`
		Line        nullable    `json:"line"`
		Column      nullable    `json:"column"`
		Length      int         `json:"length"`
	}
	firefoxFuncTable struct {
		JS       list[bool] `json:"isJS"`
		Relevant list[bool] `json:"relevantForJS"`
		Name     list[int]  `json:"name"`
		Resource list[int]  `json:"resource"` // -1 none
		Source   nullable   `json:"source"`
		Line     nullable   `json:"lineNumber"`
		Column   nullable   `json:"columnNumber"`
		Length   int        `json:"length"`
	}
	firefoxResourceTable struct {
		Lib    nullable  `json:"lib"`
		Name   list[int] `json:"name"`
		Host   nullable  `json:"host"`
		Type   list[int] `json:"type"`
		Length int       `json:"length"`
	}
	// firefoxSymbolTable stays empty: frames have their names already.
	firefoxSymbolTable struct {
		Lib     list[int] `json:"libIndex"`
		Address list[int] `json:"address"`
		Name    list[int] `json:"name"`
		Size    nullable  `json:"functionSize"`
		Length  int       `json:"length"`
	}
	firefoxSourceTable struct {
		UUID   nullable  `json:"uuid"`
		File   list[int] `json:"filename"`
		Length int       `json:"length"`
	}
	firefoxThread struct {
		Process      string              `json:"processType"`
		ProcessName  string              `json:"processName"`
		Startup      float64             `json:"processStartupTime"`
		Shutdown     *float64            `json:"processShutdownTime"`
		Register     float64             `json:"registerTime"`
		Unregister   *float64            `json:"unregisterTime"`
		Paused       []int               `json:"pausedRanges"`
		Name         string              `json:"name"`
		IsMainThread bool                `json:"isMainThread"`
		ShowMarkers  bool                `json:"showMarkersInTimeline"`
		PID          string              `json:"pid"`
		TID          any                 `json:"tid"` // a number or a word
		Samples      firefoxSamples      `json:"samples"`
		Native       *firefoxAllocations `json:"nativeAllocations,omitempty"`
		Markers      firefoxMarkers      `json:"markers"`
	}
	firefoxSamples struct {
		WeightType string    `json:"weightType"` // "bytes" or "samples"
		Weight     []uint64  `json:"weight"`
		Stack      []int     `json:"stack"`
		Time       []float64 `json:"time"`
		Length     int       `json:"length"`
	}
	firefoxAllocations struct {
		WeightType string    `json:"weightType"`
		Time       []float64 `json:"time"`
		Weight     []int64   `json:"weight"` // negative: freed
		Stack      nullable  `json:"stack"`
		Address    []uint64  `json:"memoryAddress"`
		Thread     []int32   `json:"threadId"`
		Length     int       `json:"length"`
	}
	firefoxMarkers struct {
		Data     list[firefoxMarkData] `json:"data"`
		Name     list[int]             `json:"name"`
		Start    list[float64]         `json:"startTime"`
		End      list[*float64]        `json:"endTime"`
		Phase    list[int]             `json:"phase"` // 0: an instant
		Category list[int]             `json:"category"`
		Length   int                   `json:"length"`
	}
	firefoxMarkData struct {
		Type  string `json:"type"`
		Name  string `json:"name"`
		Event uint64 `json:"event"`
	}
	firefoxCounter struct {
		Name        string                `json:"name"`
		Category    string                `json:"category"`
		Description string                `json:"description"`
		Color       string                `json:"color"`
		PID         string                `json:"pid"`
		MainThread  int                   `json:"mainThreadIndex"`
		Samples     firefoxCounterSamples `json:"samples"`

		last uint64
	}
	firefoxCounterSamples struct {
		Time   []float64 `json:"time"`
		Count  []int64   `json:"count"` // since the one before
		Length int       `json:"length"`
	}
)
