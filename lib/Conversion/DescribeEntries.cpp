//===- DescribeEntries.cpp - record the signatures of entries -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: writes the inputs, results and arena size of each entry as text into
// the module attribute `polynest.info`, which ends in every executable.
// Legal: entries whose arguments are ranked memrefs or scalars of element types
// that buffers have; others are an error.
// Profitable always: it is the only description a caller has.
// Limits: none. Cost: linear in arguments, and one walk to rename.
//
// Names: the C symbols of an entry carry its own name where that is a C
// identifier which is neither reserved nor taken, by the C library for example;
// else `entry_<name>` with every other character replaced. Functions and
// globals of the module get names with a dot, out of the way of both.
//
// The text, one item a line (see lib/Compiler/Signature.c, its reader):
//   target <name> <features> (first, where the target is known)
//   entry <C name> arena <bytes>
//   state <bytes>    (where it has a state that its constants fill)
//   name <name>      (where it is another; line ends and backslashes escaped)
//   in|out <dtype> <rank> <sizes or ?>... [strides <strides or ?>...]
//   mutable          (after an input that the program may write)
//   constant read|unread  (after an input that is bound once; whether calls
//                    still read it)
//===----------------------------------------------------------------------===//

#include "Conversion/Passes.h"

#include "Analysis/Sizes.h"
#include "Conversion/SupportedTypes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/TargetParser/Triple.h"

namespace polynest {
#define GEN_PASS_DEF_DESCRIBEENTRIES
#include "Conversion/Passes.h.inc"
} // namespace polynest

#define DEBUG_TYPE "polynest-describe-entries"

using namespace mlir;

namespace polynest {

static constexpr StringLiteral kSymbol = "polynest.symbol";
static constexpr StringLiteral kInit = "polynest.init";
/// What convert-func-to-llvm knows a function without descriptors by.
static constexpr StringLiteral kBarePointers = "llvm.bareptr";

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static bool isIdentifier(StringRef name) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, isWord);
}

/// Words of C and C++, and functions of POSIX that LLVM's own table lacks.
static const char *const kReserved[] = {
    "alignas",   "alignof",  "and",      "asm",       "auto",     "bool",
    "break",     "case",     "catch",    "char",      "class",    "const",
    "constexpr", "continue", "default",  "delete",    "do",       "double",
    "else",      "enum",     "explicit", "export",    "extern",   "false",
    "float",     "for",      "friend",   "goto",      "if",       "inline",
    "int",       "long",     "mutable",  "namespace", "new",      "noexcept",
    "not",       "nullptr",  "operator", "or",        "private",  "protected",
    "public",    "register", "restrict", "return",    "short",    "signed",
    "sizeof",    "static",   "struct",   "switch",    "template", "this",
    "throw",     "true",     "try",      "typedef",   "typeid",   "typename",
    "typeof",    "union",    "unsigned", "using",     "virtual",  "void",
    "volatile",  "while",    "xor",      "main",      "accept",   "bind",
    "clock",     "close",    "connect",  "dup",       "erf",      "erfc",
    "erfcf",     "erff",     "exit",     "index",     "kill",     "lgamma",
    "listen",    "open",     "pipe",     "poll",      "raise",    "recv",
    "select",    "send",     "signal",   "sleep",     "socket",   "system",
    "tgamma",    "time",     "wait",     "yield"};

/// True where a C symbol of this name would stand in the way of another.
static bool isReserved(StringRef name) {
  static constexpr StringLiteral ours[] = {"pn_", "polynest_", "_"};
  llvm::TargetLibraryInfoImpl library{llvm::Triple("x86_64-unknown-linux-gnu")};
  llvm::LibFunc found;
  return llvm::is_contained(kReserved, name) ||
         library.getLibFunc(name, found) ||
         llvm::any_of(
             ours, [&](StringRef prefix) { return name.starts_with(prefix); });
}

/// The name with every character that C does not take replaced.
static std::string sanitize(StringRef name) {
  std::string text = name.str();
  for (char &c : text)
    if (!llvm::isAlnum(c))
      c = '_';
  return text;
}

/// All C symbols of an entry whose typed one is `name`.
static SmallVector<std::string, 6> symbolsOf(StringRef name) {
  SmallVector<std::string, 6> symbols;
  for (StringRef suffix :
       {"", "_packed", "_shapes", "_state_size", "_init", "_problem"})
    symbols.push_back((name + suffix).str());
  return symbols;
}

/// Takes the symbols of `name` if all of them are free.
static bool takeSymbols(llvm::StringSet<> &used, StringRef name) {
  SmallVector<std::string, 6> symbols = symbolsOf(name);
  if (llvm::any_of(symbols, [&](StringRef s) { return used.contains(s); }))
    return false;
  for (StringRef symbol : symbols)
    used.insert(symbol);
  return true;
}

/// A name of the form `base`, `base_2`, ... that `take` accepts.
static std::string findFree(StringRef base,
                            llvm::function_ref<bool(StringRef)> take) {
  std::string name = base.str();
  for (unsigned i = 2; !take(name); ++i)
    name = (base + "_" + Twine(i)).str();
  return name;
}

/// Leaves on every entry, its shape function and what fills its state the C
/// name of the entry.
static void chooseSymbols(ModuleOp module, llvm::StringSet<> &used) {
  Builder builder(module.getContext());
  SmallVector<func::FuncOp> others;
  auto setSymbol = [&](func::FuncOp entry, StringRef name) {
    entry->setAttr(kSymbol, builder.getStringAttr(name));
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      used.insert(function.getName());
    if (!function->hasAttr("polynest.entry") || function->hasAttr(kInit))
      continue;
    StringRef name = function.getName();
    if (isIdentifier(name) && !isReserved(name) && takeSymbols(used, name))
      setSymbol(function, name);
    else
      others.push_back(function);
  }
  for (func::FuncOp function : others)
    setSymbol(function, findFree("entry_" + sanitize(function.getName()),
                                 [&](StringRef name) {
                                   return takeSymbols(used, name);
                                 }));
  SymbolTable symbols(module);
  for (auto function : module.getOps<func::FuncOp>()) {
    if (auto target = function->getAttrOfType<FlatSymbolRefAttr>(kInit))
      if (auto entry = symbols.lookup<func::FuncOp>(target.getAttr()))
        function->setAttr(kSymbol, entry->getAttr(kSymbol));
    Attribute symbol = function->getAttr(kSymbol);
    func::FuncOp shapes = getShapes(symbols, function);
    if (symbol && shapes && shapes->hasAttr("polynest.shapes"))
      shapes->setAttr(kSymbol, symbol);
  }
}

/// Gives functions with a body, and globals, names that no C symbol has, and
/// hides them.
static void renameDefinitions(ModuleOp module) {
  llvm::StringSet<> used;
  DenseMap<StringAttr, StringAttr> renamed;
  Builder builder(module.getContext());
  for (Operation &op : *module.getBody()) {
    auto function = dyn_cast<func::FuncOp>(op);
    if (!isa<memref::GlobalOp>(op) && (!function || function.isExternal()))
      continue;
    StringAttr old = SymbolTable::getSymbolName(&op);
    StringRef suffix = function ? ".body" : ".data";
    std::string base = sanitize(old.getValue());
    std::string name = findFree(base, [&](StringRef candidate) {
      return used.insert((candidate + suffix).str()).second;
    });
    renamed[old] = builder.getStringAttr(name + suffix);
    SymbolTable::setSymbolName(&op, renamed[old]);
    if (!function || !function->hasAttr("polynest.entry"))
      SymbolTable::setSymbolVisibility(&op, SymbolTable::Visibility::Private);
  }
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [&](FlatSymbolRefAttr reference) -> std::optional<Attribute> {
        auto found = renamed.find(reference.getAttr());
        if (found == renamed.end())
          return std::nullopt;
        return FlatSymbolRefAttr::get(found->second);
      });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true);
}

static StringRef symbolOf(func::FuncOp entry) {
  return entry->getAttrOfType<StringAttr>(kSymbol).getValue();
}

/// One line of text: line ends and backslashes are escaped, NUL is dropped.
static std::string escapeLine(StringRef text) {
  std::string line;
  for (char c : text) {
    if (c == '\\' || c == '\n') {
      line += '\\';
      line += c == '\n' ? 'n' : '\\';
    } else if (c != '\0') {
      line += c;
    }
  }
  return line;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

static void printSize(raw_ostream &os, int64_t size) {
  if (ShapedType::isDynamic(size))
    os << " ?";
  else
    os << ' ' << size;
}

/// Prints one argument; fails where no caller could pass it.
static LogicalResult describe(raw_ostream &os, StringRef role, Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  Type element = memref ? memref.getElementType() : type;
  if (!memref && !type.isIntOrIndexOrFloat())
    return failure();
  if (!whyTypeUnsupported(MemRefType::get({}, element)).empty())
    return failure();
  os << role << ' ' << element << ' ' << (memref ? memref.getRank() : 0);
  if (!memref) {
    os << " scalar\n";
    return success();
  }
  for (int64_t size : memref.getShape())
    printSize(os, size);
  if (!memref.getLayout().isIdentity()) {
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(memref.getStridesAndOffset(strides, offset)) ||
        (offset != 0 && !ShapedType::isDynamic(offset)))
      return failure();
    os << " strides";
    for (int64_t stride : strides)
      printSize(os, stride);
  }
  os << '\n';
  return success();
}

/// Bytes of the arena or state argument, an i8 memref of static size.
static FailureOr<int64_t> hiddenBytes(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || memref.getRank() != 1 || !memref.hasStaticShape() ||
      !memref.getElementType().isInteger(8))
    return failure();
  return memref.getDimSize(0);
}

/// The bytes of argument `i`, which the caller of the C function does not pass
/// as one of its arguments; fails with an error.
static FailureOr<int64_t> describeHidden(func::FuncOp entry, unsigned i,
                                         StringRef what) {
  FailureOr<int64_t> bytes = hiddenBytes(entry.getArgumentTypes()[i]);
  for (unsigned later = i + 1; later < entry.getNumArguments(); ++later)
    if (what == "arena" || !entry.getArgAttr(later, "polynest.arena"))
      bytes = failure();
  if (failed(bytes))
    return entry.emitError()
           << "the " << what << " must be the last argument, a memref<Nxi8>";
  return bytes;
}

/// True if the type says all but the address.
static bool isAddressEnough(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  return !memref || (memref.hasStaticShape() &&
                     succeeded(memref.getStridesAndOffset(strides, offset)) &&
                     !ShapedType::isDynamic(offset) &&
                     !ShapedType::isDynamicShape(strides));
}

/// A function that only has arguments of static form takes their addresses in
/// place of descriptors: less to load, to pass on and to clean up.
static void passAddresses(func::FuncOp function) {
  if (llvm::all_of(function.getArgumentTypes(), isAddressEnough))
    function->setAttr(kBarePointers, UnitAttr::get(function.getContext()));
}

/// Also leaves `polynest.arg_ranks` (-1 for a scalar, -2 for the arena, -3 for
/// the state), `polynest.arena_bytes` and `polynest.state_bytes` on the entry,
/// for polynest-lower-entries.
static LogicalResult describeEntry(raw_ostream &os, func::FuncOp entry) {
  std::string body;
  llvm::raw_string_ostream lines(body);
  int64_t arena = 0, state = 0;
  SmallVector<int64_t> ranks;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    bool isArena = entry.getArgAttr(i, "polynest.arena") != nullptr;
    if (isArena || entry.getArgAttr(i, "polynest.state")) {
      FailureOr<int64_t> bytes =
          describeHidden(entry, i, isArena ? "arena" : "state");
      if (failed(bytes))
        return failure();
      (isArena ? arena : state) = *bytes;
      ranks.push_back(isArena ? -2 : -3);
      continue;
    }
    auto memref = dyn_cast<MemRefType>(type);
    ranks.push_back(memref ? memref.getRank() : -1);
    bool isResult = entry.getArgAttr(i, "polynest.result") != nullptr;
    if (failed(describe(lines, isResult ? "out" : "in", type)))
      return entry.emitError() << "argument " << i << " of type " << type
                               << " cannot be passed by a caller";
    if (!isResult && (entry.getArgAttr(i, "polynest.mutable")))
      lines << "mutable\n";
    else if (!isResult && entry.getArgAttr(i, "polynest.constant"))
      lines << "constant "
            << (entry.getArgument(i).use_empty() ? "unread" : "read") << '\n';
  }
  Builder builder(entry.getContext());
  entry->setAttr("polynest.arg_ranks", builder.getDenseI64ArrayAttr(ranks));
  entry->setAttr("polynest.arena_bytes", builder.getI64IntegerAttr(arena));
  entry->setAttr("polynest.state_bytes", builder.getI64IntegerAttr(state));
  passAddresses(entry);
  // What fills a state is not for callers to look up.
  if (entry->hasAttr(kInit))
    return success();
  StringRef name = entry.getName();
  StringRef symbol = symbolOf(entry);
  os << "entry " << symbol << " arena " << arena << '\n';
  if (name != symbol)
    os << "name " << escapeLine(name) << '\n';
  if (state > 0)
    os << "state " << state << '\n';
  os << body;
  return success();
}

/// Leaves on a kernel the ranks of its arguments and which of them overlap no
/// other, since neither survives the conversion to LLVM.
static void describeKernel(func::FuncOp kernel) {
  SmallVector<int64_t> ranks, distinct;
  Builder builder(kernel.getContext());
  passAddresses(kernel);
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    ranks.push_back(memref ? memref.getRank() : -1);
    if (memref && kernel.getArgAttr(i, "llvm.noalias"))
      distinct.push_back(i);
  }
  kernel->setAttr("polynest.arg_ranks", builder.getDenseI64ArrayAttr(ranks));
  kernel->setAttr("polynest.distinct", builder.getDenseI64ArrayAttr(distinct));
}

/// True for what the description can hold as one word.
static bool isWord(StringRef text) {
  return !text.empty() && llvm::all_of(text, [](char c) {
    return llvm::isAlnum(c) || StringRef("-_.:+").contains(c);
  });
}

namespace {
struct DescribeEntriesPass : impl::DescribeEntriesBase<DescribeEntriesPass> {
  using DescribeEntriesBase::DescribeEntriesBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (target.empty() && features.empty())
      return success();
    if (isWord(target) && llvm::all_of(features, isWord))
      return success();
    return emitError(UnknownLoc::get(context))
           << "target and features must be names of letters, digits and "
              "'-_.:+', features only with a target";
  }

  void runOnOperation() override {
    std::string text;
    llvm::raw_string_ostream os(text);
    if (!target.empty()) {
      os << "target " << target;
      for (const std::string &feature : features)
        os << ' ' << feature;
      os << '\n';
    }
    llvm::StringSet<> used;
    chooseSymbols(getOperation(), used);
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      function->removeAttr(kBarePointers);
      if (!function->hasAttr("polynest.entry")) {
        if (function->hasAttr("polynest.kernel"))
          describeKernel(function);
        ++numDeclined;
        continue;
      }
      if (failed(describeEntry(os, function)))
        return signalPassFailure();
      ++numApplied;
    }
    getOperation()->setAttr("polynest.info",
                            StringAttr::get(&getContext(), text));
    renameDefinitions(getOperation());
  }
};
} // namespace

} // namespace polynest
