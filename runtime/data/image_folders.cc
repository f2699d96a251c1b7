// Folders of images by class. Reading guide: Folders lists and checks the files of a part; Read brings their
// pixels to the model's input.
#include "runtime/data/image_folders.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/data/image_file.h"
#include "runtime/data/interleave.h"
#include "runtime/data/picture.h"
#include "runtime/data/source.h"
#include "runtime/file/file.h"
#include "runtime/image/image.h"
#include "runtime/random/random.h"

namespace cleave::runtime {
namespace {

constexpr int kPicture = 0;  // The number of the field image; the other is label.

// Where no bad file may be left out, files are looked at when the program starts only up to so many: each is opened.
constexpr int64_t kCheckedFiles = 100'000;

struct ImageClass {
  std::string folder;
  int32_t label = 0;
  std::vector<std::string> names = {};  // Of files, sorted.
};

Error WrongFolder(const std::string& folder, const char* why) {
  return {ExitCode::kInput, Format("`%s` %s", folder.c_str(), why)};
}

// What is in a folder, sorted, without what is hidden.
Result<std::vector<std::filesystem::directory_entry>> EntriesOf(const std::string& folder) {
  std::vector<std::filesystem::directory_entry> entries;
  std::error_code failure;
  std::filesystem::directory_iterator entry(folder, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    if (entry->path().filename().native().front() != '.') entries.push_back(*entry);
  }
  if (failure)
    return Error{ExitCode::kInput, Format("cannot read `%s`: %s", folder.c_str(), failure.message().c_str())};
  std::sort(entries.begin(), entries.end());
  return entries;
}

bool IsFolder(const std::filesystem::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_directory(ignored);
}

// The images of one part of the data.
class Folders {
 public:
  int64_t count() const { return static_cast<int64_t>(order_.size()); }
  const std::vector<ImageClass>& classes() const { return classes_; }
  int32_t Label(int64_t image) const { return classes_[order_[static_cast<size_t>(image)].first].label; }
  std::string Path(int64_t image) const {
    const auto [number, name] = order_[static_cast<size_t>(image)];
    return classes_[number].folder + "/" + classes_[number].names[name];
  }

  int64_t Bytes() const {
    int64_t bytes = count() * static_cast<int64_t>(sizeof(order_[0]));
    for (const ImageClass& own : classes_) {
      for (const std::string& name : own.names) bytes += static_cast<int64_t>(sizeof name + name.capacity());
    }
    return bytes;
  }

  std::optional<Error> List(const std::string& folder, bool shows_progress) {
    auto entries = EntriesOf(folder);
    if (!entries.ok()) return entries.error();
    const auto count = static_cast<int64_t>(entries.value().size());
    Progress progress("listing the data", count, {.is_shown = shows_progress});
    for (const auto& entry : entries.value()) {
      progress.Add(1);
      if (!IsFolder(entry)) continue;
      if (auto error = ListClass(entry.path().string())) return error;
    }
    if (classes_.empty()) return WrongFolder(folder, "has no folders: each class has one, with its images");
    return std::nullopt;
  }

  // Gives the classes the numbers of the classes of the same names. An Error where there is none.
  std::optional<Error> NumberLike(const std::vector<ImageClass>& known) {
    std::map<std::string, int32_t> labels;
    for (const ImageClass& other : known) labels[NameOf(other)] = other.label;
    for (ImageClass& own : classes_) {
      const auto found = labels.find(NameOf(own));
      if (found == labels.end()) return WrongFolder(own.folder, "is a class that the training part does not have");
      own.label = found->second;
    }
    return std::nullopt;
  }

  // Of each class as many images one after another as it has of all, so that every part of them has all classes.
  void TakeTurns() {
    std::vector<int64_t> counts(classes_.size());
    for (const auto& [number, name] : order_) ++counts[number];
    std::vector<int64_t> next(classes_.size());
    for (size_t i = 1; i < next.size(); ++i) next[i] = next[i - 1] + counts[i - 1];
    std::vector<std::pair<uint32_t, uint32_t>> order;
    for (const uint32_t number : Interleaved(counts)) order.push_back(order_[static_cast<size_t>(next[number]++)]);
    order_ = std::move(order);
  }

  // Leaves out files that are no images, at most `most` together with those of other parts.
  std::optional<Error> LeaveOutBad(int64_t most, bool shows_progress, std::vector<std::string>& left_out) {
    if (most == 0 && count() > kCheckedFiles) return std::nullopt;
    std::vector<std::string> mistakes(order_.size());
    Progress progress(kReading, count(), {.is_shown = shows_progress});
#pragma omp parallel for schedule(dynamic, 16)
    for (int64_t image = 0; image < count(); ++image) {
      if (auto error = CheckImageFile(Path(image))) mistakes[static_cast<size_t>(image)] = std::move(error->message);
      progress.Add(1);
    }
    std::vector<std::pair<uint32_t, uint32_t>> good;
    for (size_t image = 0; image < mistakes.size(); ++image) {
      if (mistakes[image].empty()) {
        good.push_back(order_[image]);
        continue;
      }
      if (static_cast<int64_t>(left_out.size()) == most) {
        return Error{ExitCode::kInput, mistakes[image] + LeftOutBefore(most)};
      }
      left_out.push_back(std::move(mistakes[image]));
    }
    order_ = std::move(good);
    return std::nullopt;
  }

  static std::string NameOf(const ImageClass& own) { return own.folder.substr(own.folder.rfind('/') + 1); }

 private:
  std::optional<Error> ListClass(const std::string& folder) {
    auto entries = EntriesOf(folder);
    if (!entries.ok()) return entries.error();
    ImageClass own = {folder, static_cast<int32_t>(classes_.size())};
    for (const auto& entry : entries.value()) {
      const std::string name = entry.path().filename().string();
      if (IsNamedLikeImage(name)) {
        own.names.push_back(name);
      } else if (IsFolder(entry)) {
        return WrongFolder(entry.path().string(), "is a folder in the folder of a class, where images are expected");
      }
    }
    if (own.names.empty()) return WrongFolder(folder, "has no images: files .png, .jpg or .jpeg");
    for (size_t i = 0; i < own.names.size(); ++i) {
      order_.emplace_back(static_cast<uint32_t>(classes_.size()), static_cast<uint32_t>(i));
    }
    classes_.push_back(std::move(own));
    return std::nullopt;
  }

  std::vector<ImageClass> classes_;
  std::vector<std::pair<uint32_t, uint32_t>> order_;  // Of each image its class and its number there.
};

// Which images have been decoded, and which cannot be: their files are damaged in the middle. Any thread may ask.
class Damage {
 public:
  // `most` files may be left out, of which `before` are already.
  Damage(int64_t images, int64_t most, int64_t before) : most_(most), bad_(before), states_(StateCount(images, most)) {}

  bool IsAllowed() const { return most_ > 0; }
  int64_t Bytes() const { return static_cast<int64_t>(states_.size()); }
  bool IsGood(int64_t image) const { return IsAllowed() && StateOf(image) == State::kGood; }
  bool IsBad(int64_t image) const { return IsAllowed() && StateOf(image) == State::kBad; }

  void FoundGood(int64_t image) {
    if (IsAllowed()) states_[static_cast<size_t>(image)].store(State::kGood, std::memory_order_relaxed);
  }

  // Says so once. An Error where one more may not be left out.
  std::optional<Error> FoundBad(int64_t image, const Error& mistake) {
    const std::lock_guard lock(mutex_);
    if (IsBad(image)) return std::nullopt;
    if (bad_ == most_) return Error{mistake.code, mistake.message + LeftOutBefore(most_)};
    states_[static_cast<size_t>(image)].store(State::kBad, std::memory_order_relaxed);
    ++bad_;
    std::fprintf(stderr,
                 "warning: %s; the next image takes its place: %" PRId64 " of %" PRId64 " that `skip_bad` allows\n",
                 mistake.message.c_str(), bad_, most_);
    return std::nullopt;
  }

 private:
  enum class State : uint8_t { kUnknown, kGood, kBad };

  static size_t StateCount(int64_t images, int64_t most) { return most == 0 ? 0 : static_cast<size_t>(images); }
  State StateOf(int64_t image) const { return states_[static_cast<size_t>(image)].load(std::memory_order_relaxed); }

  const int64_t most_;
  int64_t bad_;
  std::mutex mutex_;
  std::vector<std::atomic<State>> states_;  // Empty where no bad file may be left out.
};

class ImageFoldersSource final : public Source {
 public:
  // `left_out`: how many bad files both parts are without.
  ImageFoldersSource(Folders train, Folders test, const DataSpec& spec, Picture picture, uint64_t seed,
                     std::string note, int64_t left_out)
      : train_(std::move(train)),
        test_(std::move(test)),
        trained_(train_.count() - ValidationSamples(spec.validation, train_.count())),
        reading_(spec.images),
        picture_(picture),
        key_(StreamKey({seed, "images"})),
        note_(std::move(note)),
        damage_(train_.count() + test_.count(), spec.skip_bad, left_out) {
    const auto of = [](const std::vector<float>& numbers, size_t channel, float otherwise) {
      return numbers.empty() ? otherwise : numbers[numbers.size() == 1 ? 0 : channel];
    };
    for (size_t channel = 0; channel < values_.size(); ++channel) {
      const float mean = of(reading_.mean, channel, 0), deviation = of(reading_.deviation, channel, 1);
      for (size_t byte = 0; byte < 256; ++byte) {
        values_[channel][byte] = (static_cast<float>(byte) / 255.0f - mean) / deviation;
      }
    }
  }

  int64_t Samples(DataSplit split) const override { return Of(split).count(); }
  int64_t Bytes() const override { return train_.Bytes() + test_.Bytes() + damage_.Bytes(); }
  std::string Note() const override { return note_; }

  bool ReadsSlowly() const override { return true; }

  std::optional<Error> Read(const Sample& sample, int field, const ModelInput& input, int64_t row) const override {
    if (field != kPicture) {
      const Result<Sample> shown = Shown(sample);
      if (!shown.ok()) return shown.error();
      const int32_t label = Of(sample.split).Label(shown.value().number);
      WriteRow(input, row, [&](int64_t) { return label; });
      return std::nullopt;
    }
    Result<Decoded> decoded = Decode(sample);
    if (!decoded.ok()) return decoded.error();
    const Image seen = PictureIn(std::move(decoded.value().image), picture_, reading_, decoded.value().sample, key_);
    // Channels lie beside each other there and one after another here.
    const auto channels = static_cast<size_t>(picture_.channels);
    const size_t pixels = seen.pixels.size() / channels;
    thread_local std::vector<float> values;
    values.resize(seen.pixels.size());
    const uint8_t* const bytes = seen.pixels.data();
    for (size_t channel = 0; channel < channels; ++channel) {
      float* const own = values.data() + channel * pixels;
      const std::array<float, 256>& value = values_[channel];
      for (size_t i = 0; i < pixels; ++i) {
        const uint8_t byte = bytes[i * channels + channel];
        own[i] = input.is_float ? value[byte] : static_cast<float>(byte);
      }
    }
    WriteRow(input, row, [&](int64_t element) { return values[static_cast<size_t>(element)]; });
    return std::nullopt;
  }

 private:
  struct Decoded {
    Sample sample;  // The one that is shown.
    Image image;
  };

  const Folders& Of(DataSplit split) const { return split == DataSplit::kTrain ? train_ : test_; }

  // The number of an image among those of both parts.
  int64_t InAll(const Sample& sample) const {
    return sample.number + (sample.split == DataSplit::kTrain ? 0 : train_.count());
  }

  // The next one among those that are trained, set aside or tested, after the last one the first.
  Sample Next(Sample sample) const {
    const bool is_set_aside = sample.split == DataSplit::kTrain && sample.number >= trained_;
    const int64_t begin = is_set_aside ? trained_ : 0;
    const int64_t end = sample.split == DataSplit::kTrain && !is_set_aside ? trained_ : Of(sample.split).count();
    sample.number = sample.number + 1 < end ? sample.number + 1 : begin;
    return sample;
  }

  // The sample's image; where that is damaged and may be left out, the next one that is not.
  Result<Decoded> Decode(const Sample& sample) const {
    Sample shown = sample;
    while (true) {
      if (!damage_.IsBad(InAll(shown))) {
        const std::string path = Of(shown.split).Path(shown.number);
        const Result<std::vector<uint8_t>> bytes = ReadFile(path);
        if (!bytes.ok()) return bytes.error();
        Result<Image> image = DecodeImageFile(path, bytes.value());
        if (image.ok()) {
          damage_.FoundGood(InAll(shown));
          return Decoded{shown, std::move(image.value())};
        }
        if (auto error = damage_.FoundBad(InAll(shown), image.error())) return *error;
      }
      shown = Next(shown);
      if (shown.number != sample.number) continue;
      return Error{ExitCode::kInput, Format("no image can take the place of `%s`: all that it could be are damaged",
                                            Of(sample.split).Path(sample.number).c_str())};
    }
  }

  // The sample whose image is shown for this one. A rank that holds no piece of the image decodes it too, once.
  Result<Sample> Shown(const Sample& sample) const {
    if (!damage_.IsAllowed() || damage_.IsGood(InAll(sample))) return sample;
    const Result<Decoded> decoded = Decode(sample);
    return decoded.ok() ? Result<Sample>(decoded.value().sample) : decoded.error();
  }

  const Folders train_;
  const Folders test_;
  const int64_t trained_;  // How many of the training part are not set aside.
  const ImageReading reading_;
  const Picture picture_;
  const PhiloxKey key_;
  const std::string note_;
  mutable Damage damage_;
  std::array<std::array<float, 256>, 3> values_;  // Of a byte, by channel.
};

// What the inputs take of such data, or why they cannot.
Result<Picture> PictureOf(const OpenRequest& request, const std::vector<int>& fields, int64_t classes) {
  const ImageReading& reading = request.spec.images;
  Picture picture;
  for (size_t i = 0; i < fields.size(); ++i) {
    const ModelInput& input = request.inputs[i];
    const auto refuse = [&](const std::string& why) {
      return Error{ExitCode::kInput, Format("input %s; %s", Describe(input).c_str(), why.c_str())};
    };
    if (fields[i] != kPicture) {
      if (ElementsPerSample(input.region) != 1) return refuse("images have one label each");
      if (input.limit > 0 && classes > input.limit) {
        return refuse(Format("the model has %" PRId64 " classes, and `%s` has %" PRId64 " folders", input.limit,
                             request.spec.path.c_str(), classes));
      }
      continue;
    }
    const std::vector<int64_t>& shape = input.region.shape;
    if (shape.size() != 4 || (shape[1] != 1 && shape[1] != 3)) {
      return refuse("images are [batch, channels, rows, columns], with 1 channel or 3");
    }
    picture = {shape[1], shape[2], shape[3]};
    if (reading.shorter_side > 0 && reading.shorter_side < std::max(shape[2], shape[3])) {
      return refuse(Format("images whose shorter side is %" PRId64 " do not cover it", reading.shorter_side));
    }
    for (const std::vector<float>& numbers : {reading.mean, reading.deviation}) {
      if (numbers.size() > 1 && static_cast<int64_t>(numbers.size()) != shape[1]) {
        return refuse(Format("`mean` or `std` has %zu numbers", numbers.size()));
      }
    }
    if (!input.is_float && (input.limit > 0 && input.limit < 256)) {
      return refuse(Format("a pixel is 0 to 255, and the model takes numbers below %" PRId64, input.limit));
    }
  }
  return picture;
}

// "images: 3 classes, 0 = cat, 1 = dog, 2 = owl"
std::string NoteOf(const std::vector<ImageClass>& classes, const std::vector<std::string>& left_out) {
  constexpr size_t kShown = 10;
  std::string text = Format("images: %zu class%s", classes.size(), classes.size() == 1 ? "" : "es");
  for (size_t i = 0; i < std::min(kShown, classes.size()); ++i) {
    text += Format(", %zu = %s", i, Folders::NameOf(classes[i]).c_str());
  }
  if (classes.size() > kShown) text += ", …";
  if (left_out.empty()) return text;
  text += Format("; %zu file%s left out: ", left_out.size(), left_out.size() == 1 ? "" : "s");
  for (size_t i = 0; i < std::min(kShown, left_out.size()); ++i) text += (i == 0 ? "" : ", ") + left_out[i];
  return text + (left_out.size() > kShown ? ", …" : "");
}

Result<OpenedSource> OpenImageFolders(const OpenRequest& request) {
  const DataSpec& spec = request.spec;
  Result<std::vector<int>> fields = MatchFields("images", {"image", "label"}, request.inputs);
  if (!fields.ok()) return fields.error();
  Folders train, test;
  for (const InputFile& folder : spec.files) {
    if (auto error = (folder.input == "test" ? test : train).List(folder.path, spec.shows_progress)) return *error;
  }
  if (auto error = test.NumberLike(train.classes())) return *error;
  const Result<Picture> picture = PictureOf(request, fields.value(), static_cast<int64_t>(train.classes().size()));
  if (!picture.ok()) return picture.error();
  std::vector<std::string> left_out;
  for (Folders* part : {&train, &test}) {
    if (auto error = part->LeaveOutBad(spec.skip_bad, spec.shows_progress, left_out)) return *error;
  }
  // What is written about all samples is in the order of the files.
  if (!spec.only_tests || spec.validation > 0) train.TakeTurns();
  std::string note = NoteOf(train.classes(), left_out);
  return OpenedSource{
      std::make_unique<ImageFoldersSource>(std::move(train), std::move(test), spec, picture.value(), request.seed,
                                           std::move(note), static_cast<int64_t>(left_out.size())),
      std::move(fields.value())};
}

}  // namespace

DataSpec ImageFolders(std::vector<InputFile> folders, ImageReading reading, int64_t skip_bad) {
  DataSpec spec{"images", OpenImageFolders, folders.front().path, 0, 0, std::move(folders)};
  spec.images = std::move(reading);
  spec.skip_bad = skip_bad;
  return spec;
}

}  // namespace cleave::runtime
