# SPDX-License-Identifier: BSD-2-Clause
# Builds krait. `make help` lists the targets; everything made goes to build/<variant>/. What is the
# same in several variants is made once, in build/release.
#   VARIANT=release (default), asan, cov; STATIC=1 is the variant "static"; CROSS=aarch64-linux-gnu;
#   BPF=no is "nobpf": report, diff and merge alone, which need neither clang nor libbpf nor libelf
# Which room may use which (base is below cli) shows in the includes, not here: sources are found by
# name.

# The version is the file's text alone in an archive, where git is missing, and in a commit that is
# tagged with it. In any other checkout the commit follows: 0.1+ad9c933.
NUMBER  := $(shell cat VERSION)
COMMIT  := $(if $(wildcard .git),$(shell \
	   git describe --exact-match --dirty --match 'v$(NUMBER)' 2>/dev/null || git describe --always --dirty --exclude '*' 2>/dev/null))
VERSION := $(NUMBER)$(patsubst %,+%,$(filter-out v$(NUMBER),$(COMMIT)))

ifeq ($(STATIC),1)
VARIANT := static
endif
ifeq ($(BPF),no)
VARIANT := nobpf
endif
VARIANT ?= release
CC      ?= gcc
ifeq ($(origin CC),default)
CC      := gcc
endif
ARCH    := $(shell uname -m)
ifneq ($(CROSS),)
CC      := $(CROSS)-gcc
ARCH    := $(firstword $(subst -, ,$(CROSS)))
VARIANT := $(CROSS)
endif
CLANG   ?= clang
# Ubuntu's /usr/sbin/bpftool only finds the bpftool of the running kernel; here any will do.
BPFTOOL ?= $(firstword $(wildcard /usr/lib/linux-tools/*/bpftool /usr/sbin/bpftool \
	     /usr/local/sbin/bpftool) bpftool)
PREFIX  ?= /usr/local
B       := build/$(VARIANT)
# Where objects are: these variants differ in what is linked. And where BPF objects and generated
# headers are: they are the same for all variants of one processor.
O       := $(if $(filter static nobpf,$(VARIANT)),build/release,$(B))
G       := $(if $(CROSS),$(B),build/release)
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
say      = $(if $(filter 1,$(V)),,@printf '  %-8s%s\n' '$(1)' '$(2)')

BPF_ARCH := $(if $(filter aarch64,$(ARCH)),arm64,x86)

WARN    := -Wall -Wextra -Werror -Wno-unused-parameter -Wstrict-prototypes -Wmissing-prototypes \
	   -Wold-style-definition -Wvla -Wshadow -Wno-missing-field-initializers
CPPFLAGS += -D_GNU_SOURCE -Iabi -Isrc -I$(G)/gen
CFLAGS  ?= -O2 -g
KCFLAGS := -std=gnu17 -pthread $(WARN) -fno-strict-aliasing $(CFLAGS)
LDFLAGS ?=
LDLIBS  := -lbpf -ldw -lelf -lz -lzstd -lcap -liberty -llzma -lsqlite3 -lm

# Options that make a fault in a parser harder to use, for all that is optimised. The compiler is
# asked for each: old compilers, and those for other processors, lack some. (_FORTIFY_SOURCE=3 wants
# GCC 12 or clang 9, and glibc 2.34.)
knows    = $(shell $(CC) -O2 -Werror $(1) -include features.h -xc -c -o /dev/null /dev/null 2>/dev/null && echo '$(1)')
FORTIFY := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE
HARDEN  := -fPIE $(foreach f,-fstack-protector-strong -fstack-clash-protection -fcf-protection=full -mbranch-protection=standard,$(call knows,$(f))) \
	   $(or $(call knows,$(FORTIFY)=3),$(FORTIFY)=2)
ifneq ($(filter-out asan cov,$(VARIANT)),)
ifneq ($(filter -O1 -O2 -O3 -Os,$(CFLAGS)),)
KCFLAGS += $(HARDEN)
endif
LDFLAGS += -Wl,-z,relro,-z,now $(if $(filter static,$(VARIANT)),,-pie)
endif

ifeq ($(VARIANT),asan)
CC      := $(CLANG)
# NULL + 0 isn't undefined any more (C2y, N3322), so pointer-overflow isn't checked.
KCFLAGS += -O1 -g1 -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize=pointer-overflow \
	   -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif
ifeq ($(VARIANT),cov)
KCFLAGS += -O0 --coverage
LDFLAGS += --coverage
endif
ifeq ($(VARIANT),static)
LDFLAGS += -static-pie
LDLIBS  := -ldw $(shell pkg-config --static --libs libbpf libelf 2>/dev/null || echo -lbpf -lelf -lz) -lzstd -lcap -liberty -llzma -lsqlite3 -lm
endif

# Files that are given away say nothing of the directory in which they were built.
HERE_IS := -ffile-prefix-map=$(CURDIR)=.
KCFLAGS += $(if $(filter-out asan cov,$(VARIANT)),$(HERE_IS))

# Rooms (folders of sources), the lowest first. Those that read files are in all variants; those
# that look at running programs aren't in BPF=no.
whole    = $(foreach r,$(1),$(r) $(patsubst src/%/,%,$(wildcard src/$(r)/*/)))
FILES   := $(call whole,base proc host profile view format picture store query) cli cli/options cli/report cli/diff cli/merge
RECORD  := elf $(call whole,unwind python symbol sampler collect dump record)
RUNNING := $(RECORD) $(call whole,live agent) cli/bpf cli/man cli/record cli/top cli/dump cli/doctor cli/agent cli/attach cli/py_spy cli/mcp cli/config
ROOMS   := $(FILES) $(if $(filter nobpf,$(VARIANT)),cli/no_bpf,$(RUNNING))
# The rooms that a recording without a command line needs (tests/record).
ENGINE  := $(call whole,base proc host profile) $(RECORD)
LIB_SRC := $(filter-out src/cli/main.c,$(sort $(foreach r,$(ROOMS),$(wildcard src/$(r)/*.c))))
ifeq ($(VARIANT),nobpf)
LDLIBS  := -lz -lzstd -lcap -lsqlite3 -lm
endif
# --wrap has src/base/allocate.c called in place of these: an allocation that fails leaves a
# message.
LDLIBS += $(foreach f,malloc calloc realloc reallocarray strdup strndup asprintf vasprintf __asprintf_chk __vasprintf_chk,-Wl,--wrap=$(f))
# A static program can't load libraries, but SQLite asks (src/store/no_extensions.c).
LDLIBS += $(if $(findstring -static,$(LDFLAGS)),$(foreach f,dlopen dlsym dlclose dlerror,-Wl,--wrap=$(f)))
# A static krait has objects of its own only of the sources that ask whether it is static.
ASKING  := $(if $(findstring -static,$(LDFLAGS)),$(shell grep -l KRAIT_STATIC src/*/*.c src/*/*/*.c))
LIB_OBJ := $(patsubst %.c,$(O)/%.o,$(filter-out $(ASKING),$(LIB_SRC))) \
	   $(patsubst %.c,$(O)/%.static.o,$(filter $(ASKING),$(LIB_SRC)))
BPF_SRC := $(sort $(wildcard bpf/events/*.bpf.c))
SKEL    := $(if $(filter nobpf,$(VARIANT)),,$(BPF_SRC:bpf/events/%.bpf.c=$(G)/gen/%.skel.h))
ASSETS  := $(sort $(wildcard src/picture/svg/*.js src/picture/svg/*.css))
# The page: modules in the order in which their declarations are needed, one script in the binary.
UI      := $(addprefix ui/,base/base.js data/waits.js data/data.js picture/colour.js data/tree.js data/samples.js \
	     data/shape.js view/fold.js data/search.js picture/label.js picture/gestures.js picture/flame.js view/strip.js \
	     data/sides.js parts/details.js parts/table.js parts/lines.js parts/controls.js view/save.js view/state.js \
	     view/view.js view/boxes.js view/diff.js tables/diff_lines.js tables/diff_table.js change/change.js \
	     change/divider.js tables/gil.js tables/relatives.js tables/rows.js tools.js change/keys.js main.js)
PAGE    := page.js page.css page.html
ASSET_H := $(ASSETS:src/picture/svg/%=$(G)/gen/%.h) $(PAGE:%=$(G)/gen/%.h) $(G)/gen/page_hash.h
UNIT    := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/test_*.c tests/unit/*/test_*.c)))
HOST    := $(patsubst tests/host/%.c,%,$(sort $(wildcard tests/host/test_*.c tests/host/*/test_*.c)))
FUZZ    := $(patsubst tests/fuzz/%.c,%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

##@ Building
all: $(B)/krait compile_commands.json ## build/<variant>/krait

$(B)/krait: $(O)/src/cli/main.o $(B)/libkrait.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KCFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(B)/libkrait.a: $(LIB_OBJ) $(B)/linking
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(LIB_OBJ)

# Objects depend on the flags too: another compiler or flag rebuilds all of them, nothing else does.
# Other flags of the linker only have everything linked again.
$(O)/flags: said := $(CC) $(CPPFLAGS) $(KCFLAGS)
$(B)/linking: said := $(LDFLAGS) $(LDLIBS)
$(O)/flags $(B)/linking: force
	@mkdir -p $(@D) && printf '%s\n' '$(subst ','\'',$(said))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(said))' > $@

# The version changes with every commit, so that only what shows it is compiled again.
VERSIONED := $(foreach end,.o .static.o,$(patsubst %.c,$(O)/%$(end),$(shell grep -l KRAIT_VERSION src/*/*.c src/*/*/*.c)))
$(VERSIONED): CPPFLAGS += -DKRAIT_VERSION='"$(VERSION)"'
$(VERSIONED): $(O)/version
$(O)/version: force
	@mkdir -p $(@D) && echo '$(VERSION)' | cmp -s - $@ || echo '$(VERSION)' > $@

define compile
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(KCFLAGS) -MMD -MP -c -o $@ $<
endef
$(O)/%.o: %.c $(O)/flags | $(SKEL) $(ASSET_H)
	$(compile)
$(O)/%.static.o: CPPFLAGS += -DKRAIT_STATIC
$(O)/%.static.o: %.c $(O)/flags | $(SKEL) $(ASSET_H)
	$(compile)

# The walkers of bpf/, compiled for user space. The BPF machine loads unaligned words, so they may
# do that here too.
$(O)/src/dump/walker.o: CPPFLAGS += -Ibpf
$(O)/src/dump/walker.o: KCFLAGS += $(if $(filter asan,$(VARIANT)),-fno-sanitize=alignment)

# Compiles BPF objects. -g is for BTF; DWARF is stripped by bpftool gen object.
$(G)/%.bpf.o: %.bpf.c Makefile
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v2 -O2 -g $(HERE_IS) -std=gnu17 -Wall -Wextra -Werror -Wno-unused-parameter \
		-D__TARGET_ARCH_$(BPF_ARCH) -Iabi -Ibpf $(addprefix -I,$(wildcard /usr/include/$(shell uname -m)-linux-gnu)) \
		-MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<

$(G)/gen/%.skel.h: $(G)/bpf/events/%.bpf.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $(subst .,_,$*)_bpf > $@.tmp && mv $@.tmp $@

# A text file becomes the bytes of a C string literal array: `static const char NAME[]`.
define asset
	$(call say,ASSET,$<)
	@mkdir -p $(@D)
	$(Q)( printf 'static const char asset_%s[] = {\n' '$(subst .,_,$(subst -,_,$*))'; \
		od -An -v -tx1 $< | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; printf '0};\n' ) > $@
endef
$(G)/gen/%.h: src/picture/svg/% Makefile
	$(asset)
$(G)/gen/%.h: $(G)/gen/% Makefile
	$(asset)
$(G)/gen/page.html: ui/page.html
	@mkdir -p $(@D)
	$(Q)cp $< $@
# Lines are joined where their ends mean nothing.
$(G)/gen/page.css: ui/page.css
	@mkdir -p $(@D)
	$(Q)awk '{ printf "%s%s", $$0, /[{};,]$$/ ? "" : "\n" }' $< > $@
$(G)/gen/page.js: $(UI) ui/pack.awk Makefile
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f ui/pack.awk $(UI) > $@
# The page's policy names what may run by its hash (CSP 3, 2.3.1: sha256 in base64).
hash = $$(env printf "$$(sha256sum < $(1) | cut -c1-64 | sed 's/../\\x&/g')" | base64)
$(G)/gen/page_hash.h: $(G)/gen/page.js $(G)/gen/page.css
	$(Q)printf '#define PAGE_JS_SHA256 "%s"\n#define PAGE_CSS_SHA256 "%s"\n' \
		"$(call hash,$(G)/gen/page.js)" "$(call hash,$(G)/gen/page.css)" > $@

compile_commands.json: Makefile $(LIB_SRC)
	@{ echo '['; s=''; for f in src/cli/main.c $(LIB_SRC); do \
		printf '%s{"directory":"%s","file":"%s","command":"%s -c %s"}' "$$s" "$(CURDIR)" "$$f" \
		'$(subst ",\\\",$(CC) $(CPPFLAGS) $(KCFLAGS))' "$$f"; s=','; done; echo ']'; } > $@

##@ Tests
check: ## the tests that .ci/run calls
	tests/run
check-full: ## every figure of docs/benchmarks.md (hours)
	tests/run --full

check-unit: ## unit and host tests under ASan and UBSan
	$(Q)$(MAKE) --no-print-directory VARIANT=asan unit-run
unit-run: $(UNIT:%=$(B)/tests/unit/%) $(HOST:%=$(B)/tests/host/%)
	$(Q)tests/unit/run $^

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(B)/libkrait.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KCFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka
$(B)/tests/host/%: $(B)/tests/host/%.o $(B)/libkrait.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KCFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka
# Linked without libkrait.a, so that nothing of the command line can get in.
ENGINE_OBJ := $(patsubst %.c,$(O)/%.o,$(foreach r,$(ENGINE),$(wildcard src/$(r)/*.c)))
$(B)/tests/record/record $(B)/tests/record/types: %: %.o $(ENGINE_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(KCFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
# stream.c wraps these functions: it saves their arguments, and makes mistakes in some of them.
SAVED := $(addprefix collect_,new record flush mapped exit comm exec look_again examine prepare begin) \
	 rebase_begin rebase_stack profile_labels profile_add
$(B)/tests/record/windows: $(addprefix $(B)/tests/record/,windows.o stream.o) $(ENGINE_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(KCFLAGS) $(LDFLAGS) $(SAVED:%=-Wl,--wrap=%) -o $@ $^ $(LDLIBS)
# A krait with the kernel programs of tests/vm/preempt.bpf.c in place of its own. Its sources are
# the same.
PREEMPT_SRC := $(shell grep -l sample.skel.h src/sampler/*.c)
$(B)/tests/vm/gen/sample.skel.h: $(G)/tests/vm/preempt.bpf.o
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name sample_bpf > $@.tmp && mv $@.tmp $@
$(B)/tests/vm/%.o: %.c $(B)/tests/vm/gen/sample.skel.h $(O)/flags
	@mkdir -p $(@D)
	$(Q)$(CC) -I$(B)/tests/vm/gen $(CPPFLAGS) $(KCFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/vm/krait-preempt: $(O)/src/cli/main.o $(PREEMPT_SRC:%.c=$(B)/tests/vm/%.o) $(B)/libkrait.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KCFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(B)/tests/unit/%.o: CPPFLAGS += -Itests/unit
# Compiled once and run once, most tests take longer to optimise than to run, and so do the rooms
# that the tests hardly call. These two tests walk 300,000 times.
AT_LENGTH := $(addprefix $(B)/tests/host/walk/test_walk_,random.o outcome.o)
$(B)/tests/unit/%.o $(filter-out $(AT_LENGTH),$(HOST:%=$(B)/tests/host/%.o)): KCFLAGS += -O0
ifeq ($(VARIANT),asan)
$(foreach r,cli agent record dump host live,$(O)/src/$(r)/%.o): KCFLAGS += -O0
endif
$(B)/tests/host/%.o: CPPFLAGS += -Ibpf -Itests/host
# The BPF machine loads unaligned words, so alignment isn't checked.
$(B)/tests/host/%.o: KCFLAGS += -fno-sanitize=alignment

fuzzers: ## libFuzzer programs in build/asan/tests/fuzz
	$(Q)$(MAKE) --no-print-directory VARIANT=asan fuzz-build
fuzz-build: $(FUZZ:%=$(B)/tests/fuzz/%)
$(B)/tests/fuzz/fuzz_walk.o: CPPFLAGS += -Ibpf
$(B)/tests/fuzz/fuzz_walk.o: KCFLAGS += -fno-sanitize=alignment
# These are built without sanitizers: tests/fuzz/worst.py measures how long a parser takes.
timed: $(FUZZ:fuzz_%=$(B)/tests/fuzz/timed_%)
$(B)/tests/fuzz/timed_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/timed.o $(B)/libkrait.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KCFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(B)/libkrait.a
	$(call say,LD,$@)
	$(Q)$(CC) $(KCFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

##@ Installing
# Manual page and completions come from the option tables in the binary; a cross build borrows the
# native one's.
KRAIT_HERE ?= $(if $(CROSS),build/release,$(B))/krait
DOCS       := $(addprefix $(B)/share/,krait.1 krait.bash _krait krait.fish)
docs: $(DOCS) ## manual page and completions in build/<variant>/share/
$(B)/share/krait.1: man/krait.1.in $(KRAIT_HERE)
	@mkdir -p $(@D)
	$(Q)$(KRAIT_HERE) man < $< > $@
$(B)/share/krait.bash: $(KRAIT_HERE)
	@mkdir -p $(@D)
	$(Q)$(KRAIT_HERE) completion bash > $@
$(B)/share/_krait: $(KRAIT_HERE)
	@mkdir -p $(@D)
	$(Q)$(KRAIT_HERE) completion zsh > $@
$(B)/share/krait.fish: $(KRAIT_HERE)
	@mkdir -p $(@D)
	$(Q)$(KRAIT_HERE) completion fish > $@

INSTALL   ?= install
share     := $(DESTDIR)$(PREFIX)/share
units     := $(DESTDIR)$(PREFIX)/lib/systemd/system
sysusers  := $(DESTDIR)$(PREFIX)/lib/sysusers.d
# where krait is once it is installed; the agent's unit names it
BIN       ?= $(PREFIX)/bin
install: all docs ## all that a user needs, below DESTDIR and PREFIX (/usr/local)
	$(INSTALL) -D -m 755 $(B)/krait $(DESTDIR)$(PREFIX)/bin/krait
	$(INSTALL) -D -m 644 $(B)/share/krait.1 $(share)/man/man1/krait.1
	$(INSTALL) -D -m 644 $(B)/share/krait.bash $(share)/bash-completion/completions/krait
	$(INSTALL) -D -m 644 $(B)/share/_krait $(share)/zsh/site-functions/_krait
	$(INSTALL) -D -m 644 $(B)/share/krait.fish $(share)/fish/vendor_completions.d/krait.fish
	$(INSTALL) -D -m 644 -t $(share)/krait/schema docs/schema/*.schema.json
	$(INSTALL) -D -m 644 packaging/systemd/krait-agent.service.in $(units)/krait-agent.service
	$(INSTALL) -m 644 packaging/systemd/krait-agent-serve.service.in \
		$(units)/krait-agent-serve.service
	sed -i 's,@BIN@,$(BIN),' $(units)/krait-agent.service $(units)/krait-agent-serve.service
	$(INSTALL) -m 644 -t $(units) packaging/systemd/krait-agent-serve.socket
	$(INSTALL) -D -m 644 packaging/systemd/krait.sysusers $(sysusers)/krait.conf
uninstall: ## what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/krait $(share)/man/man1/krait.1 \
		$(share)/bash-completion/completions/krait $(share)/zsh/site-functions/_krait \
		$(share)/fish/vendor_completions.d/krait.fish $(sysusers)/krait.conf \
		$(addprefix $(units)/krait-agent,.service -serve.service -serve.socket)
	rm -rf $(share)/krait

##@ Packages
stripped: $(B)/stripped/krait
$(B)/stripped/krait: $(B)/krait
	@mkdir -p $(@D)
	$(Q)$(CROSS:%=%-)strip -o $@ $<
dist: ## all packages, twice the same bytes, in build/dist/
	packaging/dist.sh
version: ## the version of what is built here
	@echo '$(VERSION)'

##@ Housekeeping
objects: # lists the objects of the program, for tests/build/no-bpf.sh
	@printf '%s\n' $(O)/src/cli/main.o $(LIB_OBJ)
clean: ## remove build/
	rm -rf build compile_commands.json
help:
	@awk -F':.*## ' '/^##@/ {print "\n" substr($$0,5)} /^[a-z][a-z-]*:.*## / {printf "  %-14s%s\n", $$1, $$2}' Makefile

-include $(shell find $(sort $(B) $(O) $(G)/bpf) -name '*.d' 2>/dev/null)
.PHONY: all check check-full check-unit unit-run fuzzers fuzz-build timed objects clean help docs install uninstall stripped \
	dist version force
