// Samples for training and testing: where they come from, in which order, and which part of them this rank reads.
//
//   const Region images = {.shape = {256, 1, 28, 28}, .begin = {64, 0, 0, 0}, .size = {64, 1, 28, 28}};
//   const Region labels = {.shape = {256}, .begin = {64}, .size = {64}};
//   std::vector<ModelInput> inputs = {{"image", images, image}, {"label", labels, label, 10}};
//   Result<std::unique_ptr<Batches>> batches = Batches::Open(Mnist("data/mnist"), inputs, seed);
//   batches.value()->LoadTraining(step);      // Fills image and label with this rank's slices of the step's batch.
//   batches.value()->LoadPart(batches.value()->evaluated(), 0);  // The same, of samples that are not trained on.
//
// A source offers fields in an order: mnist and digits offer image and label, tokens and token files offer tokens and
// next, npy offers one field for each of its files, csv one for each input that has columns, synthetic offers
// whatever the model asks for, and mix what its parts do. When every input of the model has the name of a field, inputs
// get the fields of their names; otherwise they get the fields in order. The first dimension of every input is the
// batch, but of those with a file of their own, of which a step reads a record. Samples are in one global order, a
// function of (seed, epoch) or that of the source, the same on all ranks and for all cuts.
#ifndef CLEAVE_RUNTIME_DATA_DATA_H_
#define CLEAVE_RUNTIME_DATA_DATA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/error/error.h"
#include "runtime/mesh/mesh.h"

namespace cleave::runtime {

struct ModelInput;

// The values of an input that has no samples: one record, or one for each step.
class Records {
 public:
  virtual ~Records() = default;

  virtual int64_t count() const = 0;  // At least 1.
  // Writes the rank's piece of a record to where the input lies. Any thread may call it.
  virtual std::optional<Error> Read(int64_t record, const ModelInput& input) const = 0;
};

// The file of such an input. It carries the function that opens it, so that a program has only the readers that it
// names (runtime/data/npy.h).
struct RecordsFile {
  std::string path;
  bool is_per_step = false;  // Else it is one record, which is read when the program begins.
  Result<std::unique_ptr<Records>> (*open)(const ModelInput& input) = nullptr;  // Null: an input of samples.
};

// An input of the model, and the piece of it that this rank holds; of samples one for each micro-batch.
struct ModelInput {
  ModelInput(std::string name, Region region, float* values, int64_t limit = 0)
      : name(std::move(name)), region(std::move(region)), is_float(true), floats(values), limit(limit) {}
  ModelInput(std::string name, Region region, int32_t* values, int64_t limit = 0,
             std::optional<int64_t> besides = std::nullopt)
      : name(std::move(name)),
        region(std::move(region)),
        is_float(false),
        integers(values),
        limit(limit),
        besides(besides) {}

  // REQUIRES: it has integers.
  bool Takes(int64_t number) const {
    return limit == 0 ? number == static_cast<int32_t>(number) : (number >= 0 && number < limit) || number == besides;
  }

  bool has_samples() const { return file.open == nullptr; }
  bool is_read_once() const { return !has_samples() && !file.is_per_step; }

  std::string name;
  Region region;  // Of samples, shape[0] is the global batch.
  bool is_float = true;
  float* floats = nullptr;  // The rank's buffer: one of the two.
  int32_t* integers = nullptr;
  int64_t limit = 0;  // Integers must lie in [0, limit): classes of a label, symbols of a vocabulary. 0: any value.
  std::optional<int64_t> besides = {};  // Or be this one, which the model leaves out.
  RecordsFile file = {};
};

// The inputs without those that are read once: what steps read.
std::vector<ModelInput> InputsOfSteps(std::vector<ModelInput> inputs);

// The input of this name gets 1 for each real sample of the batch and 0 for padding; it is not a field of the source.
// The program's metrics must use it: then the sum over test batches of metric * batch is exact.
inline constexpr char kSampleMask[] = "sample_mask";

// A file with the samples of one input.
struct InputFile {
  std::string input;
  std::string path;
};

// The columns of a table of which an input is made.
struct InputColumns {
  std::string input;
  std::vector<std::string> columns;
};

// What training sees of an image, when it has been resized: the middle, a part of the same size anywhere, or of the
// image as it is a part of any size, which is resized.
enum class ImageCrop { kCenter, kRandom, kScaled };

// How images become values: resized, cropped to the size of the model's input, and (byte / 255 - mean) / deviation of
// each channel in f32; i32 takes the bytes as they are.
struct ImageReading {
  int64_t shorter_side = 0;             // After resizing; 0: the smallest size that covers the input.
  ImageCrop crop = ImageCrop::kCenter;  // In training; else the middle.
  bool flip = false;                    // In training, left and right in half of the cases.
  std::vector<float> mean = {};         // One for all channels, one for each, or none: 0 and 1.
  std::vector<float> deviation = {};
};

// A function of the model's own that makes the values of one input (runtime/data/custom.h).
template <typename T>
struct View;  // runtime/custom/view.h
struct SampleFunction {
  SampleFunction(std::string input, void (*write)(int64_t sample, bool is_test, View<float> values))
      : input(std::move(input)), floats(write) {}
  SampleFunction(std::string input, void (*write)(int64_t sample, bool is_test, View<int32_t> values))
      : input(std::move(input)), integers(write) {}

  std::string input;
  void (*floats)(int64_t, bool, View<float>) = nullptr;  // One of the two.
  void (*integers)(int64_t, bool, View<int32_t>) = nullptr;
};

struct OpenRequest;  // runtime/data/source.h
struct OpenedSource;

// How a source's training samples are divided: the first `train` are trained on; the others that are set aside are
// `count` samples from `first` on, each `stride` behind the one before.
struct Division {
  int64_t train = 0;
  int64_t first = 0;
  int64_t stride = 1;
  int64_t count = 0;
};

// Where samples come from: Mnist, Digits and so on make one, each in a header of its own. It carries the function that
// opens it, so that a program has only the sources that it names.
struct DataSpec {
  const char* name = "";  // "mnist"
  Result<OpenedSource> (*open)(const OpenRequest& request) = nullptr;
  std::string path;           // mnist: a folder; tokens: a file; else empty.
  int64_t train_samples = 0;  // digits, synthetic, custom.
  int64_t test_samples = 0;
  std::vector<InputFile> files = {};  // npy: by input; else by part, `train` and `test`.
  bool only_tests = false;  // Nothing is trained: the test part is read, or all samples of data that has none.
  bool shuffle = true;      // Else every epoch reads the training samples in the order of the source.
  double validation = 0;    // The share of the training samples, the last ones, that are set aside for evaluation.
  std::vector<InputColumns> columns = {};      // csv; safetensors: of each input its tensor.
  std::vector<SampleFunction> functions = {};  // custom.
  int64_t skip_bad = 0;                        // How many lines of csv, or files of images, may be left out.
  int bits = 0;                                // Token files: of a token; 0: their headers say it.
  ImageReading images = {};                    // Folders of images.
  std::vector<DataSpec> parts = {};            // mix.
  std::vector<double> weights = {};            // mix: of the parts.
  bool shows_progress = false;                 // Lines on standard error while much is read at the start.
};

// How many of `samples` training samples this share of them is: at least a half counts as one.
int64_t ValidationSamples(double share, int64_t samples);

class Source;  // runtime/data/source.h
struct Sample;
enum class DataSplit { kTrain, kTest };

// Samples that are not trained on: those that are set aside, or those that the source offers for testing.
enum class DataPart { kValidation, kTest };
const char* DataPartName(DataPart part);  // "validation", "test"

class Batches {
 public:
  // Opens the data and checks it against the inputs, of which none is read once. Every mistake is an Error with exit
  // code 3.
  static Result<std::unique_ptr<Batches>> Open(const DataSpec& spec, std::vector<ModelInput> inputs, uint64_t seed);
  ~Batches();

  int64_t batch() const { return batch_; }
  int64_t train_samples() const;         // Without those that are set aside.
  int64_t samples(DataPart part) const;  // 0 where the data has no such part, unless the test part is all that is read.
  int64_t batches(DataPart part) const;  // The last may be padded.
  int64_t steps_per_epoch() const;       // Whole batches; at least 1.
  int64_t bytes() const;                 // Memory that the data takes.

  // The part that is evaluated while training goes on, and the one that is tested at its end. They are one where the
  // data has only one; it may be empty.
  DataPart evaluated() const { return samples(DataPart::kValidation) > 0 ? DataPart::kValidation : DataPart::kTest; }
  DataPart tested() const { return samples(DataPart::kTest) > 0 ? DataPart::kTest : evaluated(); }

  // From now on what is loaded is written there, one place for each input, instead of where it was before.
  void WriteTo(const std::vector<void*>& places);

  // Fills the inputs with the batch of training step `step`, counted from 0 over all epochs.
  void LoadTraining(int64_t step);

  // The same in steps: after BeginTraining any thread may read a part of the batch with ReadSome, until that returns
  // false. Finish reads what is left and waits for what others read; until then nothing else is called. It returns the
  // mistake of the first row that has one.
  void BeginTraining(int64_t step);
  bool ReadSome();
  std::optional<Error> Finish();
  // Whether a thread that reads while others compute is of use.
  bool ReadsSlowly() const;

  // Fills the inputs with a batch of the part and returns how many of its samples are real.
  int64_t LoadPart(DataPart part, int64_t index);

  // Makes ready what this rank reads of `count` batches: from training step `step` on, all of one epoch, or from the
  // beginning of the part. Loading does that too, so this only makes it faster.
  void PrepareTraining(int64_t step, int64_t count);
  void PreparePart(DataPart part, int64_t count);

  // What a reader should know of the data: "tokens: 65 distinct bytes, numbered in byte order"; may be empty.
  std::string note() const;

 private:
  Batches();
  std::optional<Error> CheckSizes(const DataSpec& spec) const;
  // Whether the part lies in what the source offers for training or for testing.
  DataSplit SplitOf(DataPart part) const;
  // The samples of one batch, in its order; at the end of a part there may be fewer than a batch has.
  std::vector<Sample> TrainingSamples(int64_t step);
  std::vector<Sample> PartSamples(DataPart part, int64_t index) const;
  void Prepare(const std::vector<std::vector<Sample>>& batches);
  // `record`: the number of the step, or of the batch in its part.
  void Begin(std::vector<Sample> samples, int64_t record);

  std::unique_ptr<Source> source_;
  bool tests_all_ = false;  // What the source offers for training is the test part.
  Division validation_;
  std::vector<ModelInput> inputs_;
  std::vector<int> fields_;  // Per input: the source's field, or what stands for others (batches.cc).
  std::vector<std::unique_ptr<Records>> records_;  // Per input; null for those of samples.
  int64_t batch_ = 0;
  bool shuffle_ = true;
  uint64_t seed_ = 0;
  int64_t epoch_ = -1;  // Whose order `order_` is.
  std::vector<int64_t> order_;
  struct Reading;  // Of the batch that is read.
  std::unique_ptr<Reading> reading_;
};

}  // namespace cleave::runtime

#endif  // CLEAVE_RUNTIME_DATA_DATA_H_
